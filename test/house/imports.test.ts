import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSources } from './source-files.js'

const sources = readSources()

const features = ['facilitator', 'discovery', 'directory', 'dashboard', 'hosted', 'mcp']
const belowFeatures = [
  'async',
  'x402',
  'api',
  'chain',
  'store',
  'relayer',
  'http',
  'config',
  'packages/client',
]
/** Counts what features do, around them; only the composition knows it. */
const metrics = [...belowFeatures, ...features]
/** Follows payments through the rooms below; only the composition knows it. */
const tracing = ['relayer', 'http']
/** Looks at how things stand, before a start and for readiness. */
const doctor = [...metrics, 'metrics']
const appRooms = [...doctor, 'tracing', 'doctor', 'packages/merchant', 'app.ts', 'app']

/** Which rooms a room may know, besides itself. A room that is not named here has no place in the house. */
const mayImport: Record<string, readonly string[]> = {
  x402: [],
  /** Waits, retries and groups, whatever they are about. */
  async: [],
  config: ['x402'],
  chain: ['x402', 'async'],
  store: ['x402', 'async', 'api'],
  /** The forms of all requests and answers. The field rules of a listing are the client's. */
  api: ['x402', 'packages/client'],
  http: ['x402', 'async', 'api', 'config'],
  relayer: ['x402', 'async', 'chain', 'store'],
  ...Object.fromEntries(features.map((feature) => [feature, belowFeatures])),
  // The operator's own merchant uses the package that every merchant installs.
  hosted: [...belowFeatures, 'packages/merchant'],
  /** Runs in a browser. Of the service it imports the types of answers, and pure protocol code. */
  dashboard: ['packages/client', 'api', 'x402'],
  metrics,
  tracing,
  doctor,
  'packages/client': ['x402', 'api'],
  'packages/merchant': ['x402'],
  'app.ts': appRooms,
  app: appRooms,
  'main.ts': appRooms,
  devnet: belowFeatures,
  cli: [...appRooms, 'main.ts', 'devnet'],
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

  it('run one way: x402, chain and store, relayer, features, app, main and cli', () => {
    const wrongWay = faults(
      ({ room: own }, _, room) =>
        room !== undefined && room !== own && !(mayImport[own] ?? []).includes(room),
    )
    expect(wrongWay).toEqual([])
  })

  it('lead from the console and the client to the types of answers, and to no value', () => {
    const values = sources
      .filter(({ room }) => room === 'dashboard' || room === 'packages/client')
      .flatMap(({ path, text }) =>
        [...text.matchAll(/^(import|export) (?!type )[^']*'([^']+)'/gm)]
          .map(([, , target = '']) => posix.join(posix.dirname(path), target))
          .filter((target) => target.startsWith('src/api/'))
          .map((target) => `${path} -> ${target}`),
      )
    expect(values).toEqual([])
  })

  it('stay within src and the packages, and reach a package by its name', () => {
    const outside = faults(({ room: own }, target, room) => {
      if (room === undefined || target.startsWith('src/')) return false
      return room !== own && !/^(@arcus\/|arcus-client)/.test(target)
    })
    expect(outside).toEqual([])
  })

  it('lead to the devnet from the commands only', () => {
    const users = faults(({ room: own }, _, room) => room === 'devnet' && own !== 'devnet')
    expect(users.filter((fault) => !fault.startsWith('src/cli/'))).toEqual([])
  })
})

describe('x402, which strangers run in their own servers', () => {
  const files = sources.filter(({ room }) => room === 'x402')

  it('touches no file, network, process or clock through Node', () => {
    // `node:module` loads the native packages, nothing else.
    const harmless = ['node:module']
    const used = files.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target.startsWith('node:') && !harmless.includes(target))
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

describe('what only one room does', () => {
  it.each([
    ['better-sqlite3', ['store']],
    ['undici', ['chain', 'directory', 'tracing']],
    ['pino', ['http', 'main.ts', 'app']],
    ['@modelcontextprotocol/sdk', ['mcp']],
  ])('is %s in %j', (name, rooms) => {
    const users = faults(
      ({ room }, target) =>
        (target === name || target.startsWith(`${name}/`)) && !rooms.includes(room),
    )
    expect(users).toEqual([])
  })

  it('is sending transactions in the relayer', () => {
    const senders = sources.filter(
      ({ room, text }) =>
        !['relayer', 'devnet', 'cli'].includes(room) &&
        /eth_sendRawTransaction|sendRawTransaction/.test(withoutComments(text)),
    )
    expect(senders.map(({ path }) => path)).toEqual([])
  })
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}
