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
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[]
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const folder = '.github/workflows'
const names = readdirSync(join(root, folder))
const texts = new Map(names.map((name) => [name, read(join(folder, name))]))
const workflow = (name: string) => parse(texts.get(name) ?? '') as Workflow
const stepsOf = (name: string) => Object.values(workflow(name).jobs).flatMap(({ steps }) => steps)
const commandsOf = (name: string) => stepsOf(name).flatMap(({ run }) => run ?? [])

const { scripts, engines, workspaces } = JSON.parse(read('package.json'))
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
    const needed = name === 'release.yml' ? ['id-token', 'packages'] : []
    expect(written.map(([what]) => what)).toEqual(needed)
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
    const target = stepsOf('release.yml').find(({ with: it }) => it?.push === true)?.with?.target
    expect(read('Dockerfile')).toMatch(new RegExp(`^FROM .* AS ${target}$`, 'm'))
  })

  it('publishes every package with provenance, a licence and a page of its own', () => {
    expect(commandsOf('release.yml')).toContain('npm publish --workspaces')
    expect(workspaces).toEqual(['packages/*'])
    for (const { folder, manifest } of packages) {
      expect(manifest.private).toBeUndefined()
      expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
      expect(manifest.license).toBe('Apache-2.0')
      expect(existsSync(join(root, folder, 'README.md'))).toBe(true)
    }
    expect(packages.map(({ manifest }) => manifest.name)).toEqual([
      '@arcus/client',
      '@arcus/merchant',
      '@arcus/protocol',
    ])
  })
})
