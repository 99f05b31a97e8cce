import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { verbs } from '../../src/cli/commands.js'
import { readSources, root } from './source-files.js'

const rooms = [...new Set(readSources().map(({ room }) => room))]
/** Folders of the repository; what is built or kept at run time (`dist`, `data`) is not among them. */
const folders = [
  'src',
  'packages',
  'test',
  'migrations',
  'contracts',
  'scripts',
  'bench',
  'examples',
  'docs',
  'deploy',
  '.ci',
  '.github',
]
const loneFile =
  /^([A-Z]+\.md|LICENSE|Dockerfile|\.env\.example|[\w.-]+\.(jsonc?|ya?ml|config\.ts))$/

/** The paths a document names: the targets of its links, and what looks like one of ours in its code. */
function namedPaths(text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => (match[1] as string).replace(/#.*$/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
  const code = [...text.matchAll(/```[^\n]*\n([\s\S]*?)```|`([^`\n]+)`/g)]
    .flatMap((match) => (match[1] ?? match[2] ?? '').split(/[\s"',;()]+/))
    .map((word) => word.replace(/^\.\//, '').replace(/:\d+$/, '').replace(/[.:]$/, ''))
    .filter(isOurs)
  return [...new Set([...links, ...code])]
}

function isOurs(word: string): boolean {
  if (/[<>{}*$@]|\.\.\./.test(word)) return false
  const [first = '', ...rest] = word.split('/')
  if (rest.length === 0) return loneFile.test(word)
  if (folders.includes(first)) return true
  return rooms.includes(first) && /\.[a-z]+$/.test(word)
}

function exists(path: string): boolean {
  return existsSync(join(root, path)) || existsSync(join(root, 'src', path))
}

const documents = ['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md']

describe.each(documents)('%s', (document) => {
  it('names paths, and every one exists', () => {
    expect(existsSync(join(root, document))).toBe(true)
    const paths = namedPaths(readFileSync(join(root, document), 'utf8'))
    expect(paths.length).toBeGreaterThan(0)
    expect(paths.filter((path) => !exists(path))).toEqual([])
  })
})

it('names every room of the two halves in ARCHITECTURE.md, in three pages', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  for (const half of ['facilitator', 'directory']) {
    const [, row = ''] = new RegExp(`^\\| \`src/${half}\` \\|(.*)\\|$`, 'm').exec(text) ?? []
    const named = [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name)
    const folders = readdirSync(join(root, 'src', half), { withFileTypes: true })
    const present = folders.filter((it) => it.isDirectory()).map(({ name }) => name)
    expect(named.toSorted()).toEqual(present.toSorted())
  }
  expect(text.split(/\s+/).length).toBeLessThan(1_700)
})

it('numbers the decisions one after the other, each with what was rejected, and keeps them few', () => {
  const text = readFileSync(join(root, 'docs/decisions.md'), 'utf8')
  const entries = text.split('\n').filter((line) => line.startsWith('**'))
  expect(entries.map((entry) => Number.parseInt(entry.slice(2), 10))).toEqual(
    entries.map((_entry, i) => i + 1),
  )
  expect(entries.filter((entry) => !entry.includes('*Rejected:*'))).toEqual([])
  expect(entries.length).toBeGreaterThan(30)
  expect(text.length).toBeLessThanOrEqual(22_000)
})

it('names only scripts of npm and verbs of arcus that there are', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const packages = ['client', 'merchant', 'protocol'].map((name) => `packages/${name}`)
  const pages = ['.', 'docs', 'docs/quickstarts', 'bench', ...packages]
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(folder, name)))
    .filter((path) => /\.md$|^\.env\.example$/.test(path))
  const unknown = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8')
    const named = [...text.matchAll(/npm run (?:-s |--silent )?([a-z:-]+)/g)].map(([, it]) => it)
    const called = [
      ...text.matchAll(/(?:`arcus |npm run arcus -- |cli\/arcus\.js )([a-z][a-z-]+)/g),
    ]
    return [
      ...named.filter((it = '') => !Object.hasOwn(scripts, it)),
      ...called.map(([, it = '']) => it).filter((it) => !Object.hasOwn(verbs, it)),
    ].map((it) => `${page}: ${it}`)
  })
  expect(pages).toContain('README.md')
  expect(unknown).toEqual([])
  expect(Object.keys(scripts).length).toBeLessThanOrEqual(25)
})
