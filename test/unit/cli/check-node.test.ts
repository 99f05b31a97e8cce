import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

/** Makes an installation of `bin` alone, in which Node says that it has another version. */
function anInstallation(version: string) {
  const folder = mkdtempSync(join(tmpdir(), 'node-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  cpSync('bin', join(folder, 'bin'), { recursive: true })
  cpSync('package.json', join(folder, 'package.json'))
  const other = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
  writeFileSync(join(folder, 'other.cjs'), other)
  return {
    folder,
    run: () =>
      spawnSync(process.execPath, ['-r', './other.cjs', 'bin/arcus', 'serve'], {
        cwd: folder,
        encoding: 'utf8',
      }),
  }
}

it.each(['18.20.4', '20.18.9'])(
  'Node %s is told in one sentence which one is needed',
  (version) => {
    const { status, stderr } = anInstallation(version).run()
    expect(status).toBe(1)
    expect(stderr).toMatch(/^Arcus needs Node 20\.19 or newer, and this is Node [\d.]+: .*\n$/)
  },
)

it.each(['20.19.0', '22.1.0'])('Node %s before a build is told to build', (version) => {
  const { status, stderr } = anInstallation(version).run()
  expect(status).toBe(1)
  expect(stderr).toMatch(/^Arcus is not built yet: run `npm run build` first, .*\n$/)
})

it.each([
  ['22', `${process.platform}-${process.arch}`],
  ['20', 'plan9-x64'],
])('a build for Node %s on %s says that it does not fit', (major, platform) => {
  const { folder, run } = anInstallation('20.19.0')
  mkdirSync(join(folder, 'node_modules'))
  const built = join(folder, 'node_modules/.built-for.json')
  writeFileSync(built, JSON.stringify({ major, platform }))
  const { status, stderr } = run()
  expect(status).toBe(1)
  const here = `${process.platform}-${process.arch}`
  const said = `This build of Arcus is for Node ${major} on ${platform}, and this is Node 20.19.0 on ${here}`
  expect(stderr).toContain(said)
  writeFileSync(built, JSON.stringify({ major: '20', platform: here }))
  expect(run().stderr).toMatch(/^Arcus is not built yet/)
})

it('runs what was built', () => {
  const { folder, run } = anInstallation('20.19.0')
  mkdirSync(join(folder, 'dist/cli'), { recursive: true })
  writeFileSync(join(folder, 'dist/cli/arcus.js'), 'console.log(process.argv.slice(2).join())')
  expect(run()).toMatchObject({ status: 0, stdout: 'serve\n', stderr: '' })
})
