import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSources, root } from './source-files.js'

const sources = readSources()

const protocol = 'packages/protocol'
/** The small rooms that both halves stand on. */
const ground = [protocol, 'async', 'sql', 'chain', 'http']
/** The operator's own merchant uses the package that every merchant installs, and lists itself as any operator does. */
const hosted = [...ground, 'packages/merchant', 'directory']
const app = [
  ...ground,
  'facilitator',
  'directory',
  'hosted',
  'packages/merchant',
  'packages/client',
  'console',
]
const main = [...app, 'app']

/** Which rooms a room may know, besides itself. A room that is not named here has no place in the house. */
const mayImport: Record<string, readonly string[]> = {
  /** What both sides of the wire agree on. */
  [protocol]: [],
  'packages/client': [protocol],
  'packages/merchant': [protocol],
  /** Waits, retries and groups, whatever they are about. */
  async: [],
  sql: [protocol, 'async'],
  chain: [protocol, 'async'],
  http: [protocol, 'async'],
  /** The two halves never know each other. What crosses is handed over by the process that holds both. */
  facilitator: ground,
  directory: ground,
  /** Runs in a browser. */
  console: [protocol, 'packages/client'],
  hosted,
  app,
  'main.ts': main,
  devnet: [...ground, 'packages/client'],
  cli: [...main, 'main.ts', 'devnet'],
}

/** The floors inside the halves, from the ground. Parts of one floor do not know each other; all else stands above. */
const floors: Record<string, readonly (readonly string[])[]> = {
  'src/facilitator': [
    ['settings.ts', 'journal'],
    ['answers.ts', 'relayer', 'screening'],
    ['methods'],
    ['verify', 'lookup'],
    ['settle'],
    ['batch'],
  ],
  'src/directory': [
    ['ports.ts'],
    ['json-schema', 'store'],
    ['refusals.ts'],
    ['discovery', 'probe'],
    ['identity', 'seen-in-payments', 'listings'],
    ['session'],
    ['activity'],
    ['events', 'paid-checks', 'exports', 'mcp'],
  ],
}

/** `path -> target` of every import that the test finds fault with. */
function faults(
  isFault: (source: (typeof sources)[number], target: string, room?: string) => boolean,
) {
  return sources.flatMap((source) =>
    source.imports
      .filter(({ target, room }) => isFault(source, target, room))
      .map(({ target }) => `${source.path} -> ${target}`),
  )
}

describe('the arrows between the rooms', () => {
  it('are read from files that exist', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(100)
  })

  it('start in rooms of the house only', () => {
    const strangers = sources.filter(({ room }) => mayImport[room] === undefined)
    expect(strangers.map(({ path }) => path)).toEqual([])
  })

  it('run one way: the protocol, the ground, the two halves, the process, main and cli', () => {
    const wrongWay = faults(
      ({ room: own }, _, room) =>
        room !== undefined && room !== own && !(mayImport[own] ?? []).includes(room),
    )
    expect(wrongWay).toEqual([])
  })

  it('lead from the console and the client to the types of answers, and to no value', () => {
    const values = sources
      .filter(({ room }) => room === 'console' || room === 'packages/client')
      .flatMap(({ path, text }) =>
        [
          ...text.matchAll(/^(import|export) (?!type )[^']*'(@arcus\/protocol\/answers\/[^']+)'/gm),
        ].map(([, , target = '']) => `${path} -> ${target}`),
      )
    expect(values).toEqual([])
  })

  it('lead into the console to the list of its pages only', () => {
    const users = faults(({ room: own }, _, room) => room === 'console' && own !== 'console')
    expect(users).toEqual(['src/app/console.ts -> src/console/public-pages.js'])
  })

  it('stay within src and the packages, and reach a package by its name', () => {
    const outside = faults(({ room: own }, target, room) => {
      if (room === undefined || room === own) return false
      return own.startsWith('packages/')
        ? !target.startsWith('@arcus/')
        : !/^(src\/|@arcus\/)/.test(target)
    })
    expect(outside).toEqual([])
  })

  it.each(Object.entries(floors))('go down inside %s', (half, floorsOfHalf) => {
    const floorOf = (path: string) => {
      const part =
        path
          .slice(half.length + 1)
          .split('/', 1)[0]
          ?.replace(/\.js$/, '.ts') ?? ''
      const floor = floorsOfHalf.findIndex((parts) => parts.includes(part))
      return { part, floor: floor === -1 ? floorsOfHalf.length : floor }
    }
    const upward = sources
      .filter(({ path }) => path.startsWith(`${half}/`))
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => target.startsWith(`${half}/`))
          .map(({ target }) => ({ path, from: floorOf(path), target, to: floorOf(target) }))
          .filter(({ from, to }) => from.part !== to.part && from.floor <= to.floor)
          // What stands above all floors is the half itself.
          .filter(({ from }) => from.floor < floorsOfHalf.length),
      )
    expect(upward.map(({ path, target }) => `${path} -> ${target}`)).toEqual([])
    const rooms = new Set(floorsOfHalf.flat())
    const found = sources.filter(({ path }) => rooms.has(floorOf(path).part))
    expect(new Set(found.map(({ path }) => floorOf(path).part))).toEqual(rooms)
  })

  it('lead to the devnet from the commands only', () => {
    const users = faults(({ room: own }, _, room) => room === 'devnet' && own !== 'devnet')
    expect(users.filter((fault) => !fault.startsWith('src/cli/'))).toEqual([])
  })
})

describe('the protocol, which strangers run in their own servers and browsers', () => {
  const files = sources.filter(({ room }) => room === protocol)

  it('touches no file, network, process or clock through Node', () => {
    const used = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target.startsWith('node:'))
        .map(({ target }) => `${path} -> ${target}`),
    )
    expect(used).toEqual([])
  })

  it('has no clock, no timer, no logger, no randomness and no environment', () => {
    const impure =
      /\bDate\b|\bperformance\.|\bset(Timeout|Interval|Immediate)\b|\bprocess\.|\bconsole\.|\bMath\.random\b|\bcrypto\.|\bfetch\(|'pino'/
    expect(
      files.filter(({ text }) => impure.test(withoutComments(text))).map(({ path }) => path),
    ).toEqual([])
  })
})

it('the client runs in browsers, but for its entries for Node', () => {
  const users = sources.filter(
    ({ room, imports, text }) =>
      room === 'packages/client' &&
      (imports.some(({ target }) => target.startsWith('node:')) ||
        /\bprocess\.|\bBuffer\b/.test(withoutComments(text))),
  )
  const config = readFileSync(join(root, 'packages/client/tsconfig.node.json'), 'utf8')
  const entries = JSON.parse(config).include.map((path: string) => `packages/client/${path}`)
  expect(users.map(({ path }) => path).sort()).toEqual(entries)
  const fromOthers = sources
    .filter(({ path, room }) => room === 'packages/client' && !entries.includes(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => entries.includes(target.replace(/\.js$/, '.ts')))
        .map(({ target }) => `${path} -> ${target}`),
    )
  expect(fromOthers).toEqual([])
})

describe('what only one room does', () => {
  it.each([
    ['better-sqlite3', ['sql', 'app', 'cli']],
    ['undici', ['chain', 'directory', 'http', 'app']],
    ['pino', ['http', 'main.ts', 'app']],
    ['@modelcontextprotocol/sdk', ['directory', 'packages/client', 'devnet']],
  ])('is %s in %j', (name, rooms) => {
    const users = faults(
      ({ room }, target) =>
        (target === name || target.startsWith(`${name}/`)) && !rooms.includes(room),
    )
    expect(users).toEqual([])
  })

  it('is sending transactions in the relayer', () => {
    const senders = sources.filter(
      ({ path, room, text }) =>
        !path.startsWith('src/facilitator/relayer/') &&
        !['devnet', 'cli'].includes(room) &&
        /eth_sendRawTransaction|sendRawTransaction/.test(withoutComments(text)),
    )
    expect(senders.map(({ path }) => path)).toEqual([])
  })
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}
