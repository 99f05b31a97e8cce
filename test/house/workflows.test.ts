import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { root } from './source-files.js'

/** What is read here of a workflow of GitHub. */
interface Workflow {
  on: { push: { tags?: string[] } }
  permissions: Record<string, string>
  jobs: Record<string, Job>
}

interface Job {
  permissions?: Record<string, string>
  strategy?: { matrix: Record<string, unknown> }
  needs?: string | string[]
  steps: Step[]
}

interface Step {
  uses?: string
  run?: string
  with?: Record<string, unknown>
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const folder = '.github/workflows'
const names = readdirSync(join(root, folder))
const texts = new Map(names.map((name) => [name, read(join(folder, name))]))
const workflow = (name: string) => parse(texts.get(name) ?? '') as Workflow
const stepsOf = (name: string) => Object.values(workflow(name).jobs).flatMap(({ steps }) => steps)
const commandsOf = (name: string) => stepsOf(name).flatMap(({ run }) => run ?? [])

const { scripts, engines, workspaces, version } = JSON.parse(read('package.json'))
const packages = readdirSync(join(root, 'packages')).map((name) => ({
  folder: `packages/${name}`,
  manifest: JSON.parse(read(`packages/${name}/package.json`)),
}))

describe.each(names)('%s', (name) => {
  it('pins every action to a commit, and says which version that is', () => {
    const used = stepsOf(name).flatMap(({ uses }) => uses ?? [])
    expect(used.length).toBeGreaterThan(0)
    expect(used.filter((it) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(it))).toEqual([])
    const pinned = texts.get(name)?.match(/uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/gm)
    expect(pinned).toHaveLength(used.length)
  })

  it('runs only scripts and programs that there are', () => {
    const text = commandsOf(name).join('\n')
    const called = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, it = '']) => it)
    expect(called.filter((it) => !Object.hasOwn(scripts, it))).toEqual([])
    const programs = text.match(/(?<=^|\s)\.ci\/[\w-]+/gm) ?? []
    expect(programs.length).toBeGreaterThan(0)
    for (const program of programs) expect(statSync(join(root, program)).mode & 0o100).not.toBe(0)
  })

  it('may do no more than it has to', () => {
    const { permissions, jobs } = workflow(name)
    expect(permissions).toEqual({ contents: 'read' })
    const written = Object.values(jobs).flatMap((job) =>
      Object.entries(job.permissions ?? {}).filter(([, may]) => may === 'write'),
    )
    const needed =
      name === 'release.yml' ? ['attestations', 'contents', 'id-token', 'packages'] : []
    expect([...new Set(written.map(([what]) => what))].sort()).toEqual(needed)
  })
})

it('runs the gate on every Node that is supported, from the oldest on', () => {
  expect(commandsOf('ci.yml')).toContain('.ci/run')
  const versions = workflow('ci.yml').jobs.gate?.strategy?.matrix.node as string[]
  expect(versions).toEqual(['20.19', '22', '24'])
  expect(engines.node).toBe(`>=${versions[0]}`)
})

describe('a release', () => {
  it('begins with a tag, and builds a stage of the image that there is', () => {
    expect(workflow('release.yml').on.push.tags).toEqual(['v*'])
    const targets = stepsOf('release.yml').flatMap(({ with: it }) => it?.target ?? [])
    expect(targets.length).toBeGreaterThan(0)
    for (const target of targets) expect(read('Dockerfile')).toMatch(` AS ${target}\n`)
  })

  it('publishes nothing before the image was run, and no package before the image is there', () => {
    const { gate, build, image, packages: npm, page } = workflow('release.yml').jobs
    expect(gate?.needs).toBeUndefined()
    expect([build?.needs, image?.needs, npm?.needs]).toEqual(['gate', 'build', 'image'])
    expect(page?.needs).toEqual(['image', 'packages'])
    const steps = build?.steps ?? []
    const isRun = ({ run = '' }: Step) => /check-layout\.ts docker run/.test(run)
    const isPush = ({ with: it }: Step) => String(it?.outputs).includes('push=true')
    expect(steps.findIndex(isRun)).toBeGreaterThan(0)
    expect(steps.findIndex(isPush)).toBeGreaterThan(steps.findIndex(isRun))
  })

  it('publishes every package with provenance, a licence, a page of its own and words to find it', () => {
    expect(workspaces).toEqual(['packages/*'])
    for (const { folder, manifest } of packages) {
      expect(manifest.private).toBeUndefined()
      expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
      expect(manifest.license).toBe('Apache-2.0')
      expect(manifest.keywords).toContain('x402')
      expect(manifest.version).toBe(version)
      expect(existsSync(join(root, folder, 'README.md'))).toBe(true)
      expect(read('.ci/publish')).toContain(folder)
    }
  })

  it('has notes in the changelog, and fails for a version without them', () => {
    const notesOf = (version: string) =>
      spawnSync('node', ['scripts/release-notes.js', version], { cwd: root, encoding: 'utf8' })
    expect(notesOf(version)).toMatchObject({ status: 0, stderr: '' })
    expect(notesOf(version).stdout).toContain('`POST /settle`')
    expect(notesOf('99.0.0')).toMatchObject({ status: 1, stdout: '' })
  })

  it('is announced on each page that needs one, until the changelog has its date', () => {
    const isReleased = /^## \[\d+\.\d+\.\d+\] - \d{4}-/m.test(read('CHANGELOG.md'))
    const pages = ['.', 'docs', 'docs/quickstarts', ...packages.map(({ folder: it }) => it)]
      .flatMap((it) => readdirSync(join(root, it)).map((name) => join(it, name)))
      .filter((path) => path.endsWith('.md') && path !== 'docs/releasing.md')
    const saying = pages.filter((path) => read(path).includes('Nothing is released yet'))
    if (isReleased) expect(saying).toEqual([])
    const fromNpm = /npx @arcus\/|"@arcus\/client"|npm install[^`\n]*arcus-/
    const needing = pages.filter((path) => fromNpm.test(read(path)) && path !== 'CHANGELOG.md')
    expect(needing.length).toBeGreaterThan(3)
    if (!isReleased) expect(needing.filter((path) => !saying.includes(path))).toEqual([])
  })
})
