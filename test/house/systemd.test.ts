import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './source-files.js'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const unit = read('deploy/systemd/arcus.service')
const valuesOf = (key: string) =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value ?? '')

it('the commands of the handbook put there what the unit names', () => {
  const section = read('docs/operations.md').split('### On one machine with systemd')[1]
  const commands = /```sh\n([\s\S]*?)```/.exec(section ?? '')?.[1] ?? ''
  const machine = mkdtempSync(join(tmpdir(), 'machine-'))
  const checkout = join(machine, 'checkout')
  for (const folder of ['dist/cli', 'migrations', 'node_modules', 'deploy/systemd']) {
    mkdirSync(join(checkout, folder), { recursive: true })
  }
  const files = ['relayer.keys', '.env', 'package.json', 'dist/cli/arcus.js']
  for (const file of files) writeFileSync(join(checkout, file), '')
  writeFileSync(join(checkout, 'deploy/systemd/arcus.service'), unit)
  for (const folder of ['opt', 'etc/systemd/system']) {
    mkdirSync(join(machine, folder), { recursive: true })
  }
  const moved = commands.replace(/ \/(opt|etc)\//g, ` ${machine}/$1/`)
  const script = `useradd() { :; }\nsystemctl() { :; }\n${moved}`
  execFileSync('sh', ['-e', '-c', script], { cwd: checkout })

  const program = `${valuesOf('WorkingDirectory')[0]}/${valuesOf('ExecStart')[0]?.split(' ')[1]}`
  const keys = valuesOf('LoadCredential')[0]?.split(':')[1]
  const named = [program, keys, valuesOf('EnvironmentFile')[0]]
  expect(named.filter((path) => !existsSync(join(machine, String(path))))).toEqual([])
  expect(existsSync(join(machine, 'etc/systemd/system/arcus.service'))).toBe(true)
  rmSync(machine, { recursive: true })
})

it('a system call outside the unit’s list fails, and V8 and the thread of search may make theirs', () => {
  expect(valuesOf('SystemCallErrorNumber')).toEqual(['EPERM'])
  const [allowed, denied] = valuesOf('SystemCallFilter')
  expect(allowed?.split(' ')).toContain('@pkey')
  expect(denied).not.toContain('@resources')
})
