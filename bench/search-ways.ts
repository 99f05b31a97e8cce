import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type * as Catalog from '../src/directory/discovery/catalog.js'
import type { EndpointList, SearchableEndpoint } from '../src/directory/discovery/endpoint-list.js'
import type { EndpointFilter } from '../src/directory/discovery/filters.js'
import type * as Search from '../src/directory/discovery/search.js'
import type * as Listings from '../src/directory/store/sql/listings.js'
import type * as Database from '../src/sql/sqlite/database.js'
import type * as GroupCommit from '../src/sql/sqlite/group-commit.js'
import type * as SqlPort from '../src/sql/sqlite/sql.js'
import { planted } from './discovery-corpus.js'
import { line, median } from './figures.js'
import { questions as sentences } from './sentence-questions.js'

/**
 * Ten kinds of search, each question asked of this checkout, of another one and of MiniSearch by turns, in one process over
 * one made-up catalog: memory, a search after a save, and whether the same ten come first.
 *
 *     npm pack minisearch && tar xzf minisearch-*.tgz
 *     NODE_OPTIONS=--max-old-space-size=16000 npm run bench -- search-ways 10000 100000 --beside ../arcus-before --minisearch package
 */
const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: { beside: { type: 'string' }, minisearch: { type: 'string' } },
})
/** The first one only compiles. */
const roundsOf = (size: number) => (size >= 100_000 ? 2 : 6)
const SAVES = 10
const QUESTIONS = 20
const PAGE = 10
const DEEP = 1_000

interface Question {
  query: string
  filter?: EndpointFilter
  /** Asks for a page of the list and its total instead of the best. */
  isList?: boolean
}

/** A way to search. All ways of a run follow the same database. */
interface Way {
  name: string
  /** Follows the changes since the last call. */
  follow(): Promise<void>
  /** Forgets answers, as another process would. */
  forget(): void
  /** Returns the ids of the first page. */
  ask(question: Question): number[]
  /** Returns how many of these ids are among all that it finds. */
  findsOf?(question: Question, ids: readonly number[]): number
  stop(): Promise<void>
}

const topics =
  'weather forecast price market crypto token swap news search image video audio speech text translate summary sentiment company stock bond'.split(
    ' ',
  )
const letters = 'etaoinshrdlucmfwypgb'

function kinds(endpoints: number): Map<string, Question[]> {
  const range = Array.from({ length: QUESTIONS }, (_, i) => i)
  const of = (queryOf: (i: number) => string, rest: Partial<Question> = {}) =>
    range.map((i) => ({ query: queryOf(i), ...rest }))
  const topic = (i: number) => topics[i] as string
  const swapped = (word: string) => `${word.slice(0, 2)}${word[3]}${word[2]}${word.slice(4)}`
  const code = (i: number) => {
    const endpoint = Math.floor(((i + 0.5) * endpoints) / QUESTIONS / 3) * 3
    return endpoint.toString(36).padStart(5, '0')
  }
  return new Map([
    ['a word of one hit', of(code)],
    ['a word in 37 %', [planted.common, 'realtim', 'ealtime'].map((query) => ({ query }))],
    ['a topic', of(topic)],
    ['two topics', of((i) => `${topic(i)} ${topic((i + 7) % QUESTIONS)}`)],
    ['the beginning of a word', of((i) => topic(i).slice(0, 4))],
    ['two letters', of((i) => `${letters[i]}${'aeiou'[i % 5]}`)],
    ['a misspelt word', of((i) => swapped(topic(i)))],
    ['a sentence', of((i) => sentences[i * 4]?.question ?? '')],
    [
      'a topic, three filters',
      of(topic, { filter: { method: 'GET', maxPrice: 20_000, verified: true } }),
    ],
    ['a list and its total', of(topic, { isList: true })],
  ])
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

for (const size of positionals) await measure(Number(size))

async function measure(size: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
  const file = join(folder, 'arcus.db')
  const seed = fileURLToPath(new URL('discovery-seed.ts', import.meta.url))
  execFileSync(process.execPath, ['--import', 'tsx', seed, file, String(size)])
  line(`\n## ${size} endpoints`)
  const here = fileURLToPath(new URL('..', import.meta.url))
  const own = await openWay('this checkout', here, file)
  const ways: Way[] = [own]
  try {
    if (given.beside !== undefined) ways.push(await openWay('beside', given.beside, file))
    if (given.minisearch !== undefined) ways.push(await openMiniSearch(given.minisearch, own.list))
    const questions = kinds(size)
    const times = askAll(ways, questions, roundsOf(size))
    const saves = await saveAll(ways, own)
    report(ways, new Map([...times, ...saves]))
    reportRecall(ways, questions)
  } finally {
    for (const way of ways) await way.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the processor time of all threads since then: other work on the machine is not in it. */
function msSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Milliseconds by kind, then by way. */
type Times = Map<string, number[][]>

function askAll(
  ways: readonly Way[],
  questions: ReadonlyMap<string, Question[]>,
  rounds: number,
): Times {
  const times: Times = new Map()
  for (let round = 0; round < rounds; round++) {
    for (const way of ways) way.forget()
    for (const [kind, asked] of questions) {
      const taken = times.get(kind) ?? ways.map(() => [])
      times.set(kind, taken)
      for (const question of asked) {
        for (const [i, way] of inTurns(ways, round)) {
          const before = process.cpuUsage()
          way.ask(question)
          if (round > 0) taken[i]?.push(msSince(before))
        }
      }
    }
  }
  return times
}

function inTurns<Member>(members: readonly Member[], round: number): [number, Member][] {
  const all = [...members.entries()]
  return round % 2 === 0 ? all : all.reverse()
}

async function saveAll(ways: readonly Way[], own: TreeWay): Promise<Times> {
  const times: Times = new Map(
    ['a change taken in', 'the first search after it'].map((kind) => [kind, ways.map(() => [])]),
  )
  for (let round = 0; round < SAVES; round++) {
    await own.save(`Saved again${round}x`)
    // MiniSearch takes its texts from the list of the first one.
    for (const [i, way] of ways.entries()) {
      const before = process.cpuUsage()
      await way.follow()
      const followed = process.cpuUsage()
      const found = way.ask({ query: `again${round}x weather` })
      times.get('the first search after it')?.[i]?.push(msSince(followed))
      times.get('a change taken in')?.[i]?.push(msSince(before) - msSince(followed))
      if (found.length === 0) throw new Error(`${way.name} missed a save`)
    }
  }
  return times
}

function report(ways: readonly Way[], times: Times): void {
  line(`\n| processor time, p50, ms | ${ways.map(({ name }) => name).join(' | ')} |`)
  line(`|---|${'---|'.repeat(ways.length)}`)
  for (const [kind, taken] of times) {
    line(`| ${kind} | ${taken.map((ms) => median(ms).toFixed(2)).join(' | ')} |`)
  }
}

/** The first way of a checkout is right: the others are held to its first ten. */
function reportRecall(
  [own, ...others]: readonly Way[],
  questions: ReadonlyMap<string, Question[]>,
): void {
  for (const way of others) {
    own?.forget()
    way.forget()
    line('')
    for (const [kind, asked] of questions) {
      let [same, shared, found, all] = [0, 0, 0, 0]
      for (const question of asked) {
        const [right, ids] = [own?.ask(question) ?? [], way.ask(question)]
        if (right.length === ids.length && right.every((id, i) => ids[i] === id)) same++
        shared += right.filter((id) => ids.includes(id)).length
        found += way.findsOf?.(question, right) ?? 0
        all += right.length
      }
      const further = way.findsOf === undefined ? '' : `, ${found} among all that it finds`
      line(
        `${way.name}, ${kind}: the same ten for ${same} of ${asked.length}; ${shared} of ${all} shared${further}`,
      )
    }
  }
}

interface TreeWay extends Way {
  list: EndpointList
  save(title: string): Promise<void>
}

/** Opens the search of a checkout; it reads the catalog twice, because the first time warms file and code. */
async function openWay(name: string, folder: string, file: string): Promise<TreeWay> {
  const load = <Module>(path: string): Promise<Module> =>
    import(pathToFileURL(join(resolve(folder), 'src', path)).href)
  const { openDatabase } = await load<typeof Database>('sql/sqlite/database.ts')
  const { createGroupCommit } = await load<typeof GroupCommit>('sql/sqlite/group-commit.ts')
  const { createSql } = await load<typeof SqlPort>('sql/sqlite/sql.ts')
  const { createListingStore } = await load<typeof Listings>('directory/store/sql/listings.ts')
  const { createCatalog } = await load<typeof Catalog>('directory/discovery/catalog.ts')
  const { EndpointSearch } = await load<typeof Search>('directory/discovery/search.ts')
  const database = openDatabase(file)
  const store = createListingStore(createSql(database, createGroupCommit(database)))
  const open = () => createCatalog({ source: store, onFault: (fault) => line(String(fault)) })
  let catalog = open()
  catalog.start()
  await listOf(catalog)
  await catalog.stop()
  catalog = open()
  const before = usedMb()
  catalog.start()
  const list = await listOf(catalog)
  let search = new EndpointSearch(list)
  search.rank({ filter: {}, query: 'warm', limit: PAGE, after: undefined })
  const { readSeconds } = catalog.figures()
  line(`${name}: read in ${readSeconds.toFixed(1)} s, ${(usedMb() - before).toFixed(0)} MB`)
  return {
    name,
    list,
    async follow() {
      await catalog.current()
    },
    forget() {
      search = new EndpointSearch(list)
    },
    ask({ query, filter = {}, isList = false }) {
      if (isList) return search.list({ filter, q: query, offset: DEEP, limit: PAGE }).ids
      return search.rank({ filter, query, limit: PAGE, after: undefined }).ids
    },
    save: (title) => saveListing(store, title),
    async stop() {
      await catalog.stop()
      database.close()
    },
  }
}

async function listOf(catalog: Catalog.MemoryCatalog): Promise<EndpointList> {
  for (;;) {
    const list = await catalog.current()
    if (list !== undefined) return list
    await new Promise((done) => setTimeout(done, 20))
  }
}

function saveListing(store: ReturnType<typeof Listings.createListingStore>, title: string) {
  const payTo = '0x00000000000000000000000000000000000000ff' as const
  const asset = '0x3600000000000000000000000000000000000000' as const
  const network = 'eip155:5042'
  const merchant = {
    id: 'saved',
    owner: payTo,
    name: 'Saved',
    description: 'Saved again and again.',
    network,
    asset,
    payTo,
    isOfficial: false,
    isPartner: false,
    hiddenReason: null,
  }
  const endpoints = ['one', 'two', 'three'].map((path) => ({
    url: `https://saved.example.com/${path}`,
    method: 'GET' as const,
    title,
    description: 'The weather of a place by its name.',
    pricing: 'fixed' as const,
    price: 1_000n,
    asset,
    symbol: 'USDC',
    tags: ['place'],
    example: {},
    inputSchema: null,
    output: { type: 'json' },
    extras: {},
    isHosted: false,
    accepts: [{ scheme: 'exact', network, amount: '1000', asset, payTo }],
    status: 'live' as const,
    probe: null,
    failures: 0,
    nextProbeAt: null,
  }))
  return store.saveByOperator(merchant, endpoints, Math.floor(Date.now() / 1_000))
}

/** The part of MiniSearch that is used here. */
interface MiniSearch {
  add(document: Record<string, unknown>): void
  discard(id: number): void
  has(id: number): boolean
  search(query: string, options: object): { id: number }[]
}

/** Opens MiniSearch over the texts of a list, with prefixes, misspellings and weights for each field. */
async function openMiniSearch(folder: string, list: EndpointList): Promise<Way> {
  const entry = pathToFileURL(join(resolve(folder), 'dist', 'es', 'index.js')).href
  const { default: Mini } = await import(entry)
  const boost = { title: 2, tags: 1.5, provider: 1.2, url: 0.6 }
  const fields = ['title', 'tags', 'provider', 'description', 'url']
  const before = usedMb()
  const startedAt = performance.now()
  const mini: MiniSearch = new Mini({ fields, searchOptions: { prefix: true, boost } })
  let byId = new Map(list.endpoints.map((endpoint) => [endpoint.id, endpoint]))
  for (const endpoint of list.endpoints) mini.add(documentOf(endpoint))
  const seconds = (performance.now() - startedAt) / 1_000
  const mb = usedMb() - before
  line(`MiniSearch: built in ${seconds.toFixed(1)} s, ${mb.toFixed(0)} MB beside the list`)
  const { testOf } = await import('../src/directory/discovery/filters.js')

  function all({ query, filter = {} }: Question): number[] {
    const isMet = testOf(filter)
    const isWhole = query.split(' ').length <= 2
    const options = {
      combineWith: isWhole ? 'AND' : 'OR',
      fuzzy: (term: string) => (term.length > 4 ? 1 : false),
      filter: ({ id }: { id: number }) => isMet(byId.get(id) as SearchableEndpoint),
    }
    return mini.search(query, options).map(({ id }) => id)
  }

  return {
    name: 'MiniSearch',
    async follow() {
      const { endpoints = [] } = list.findMerchant('saved') ?? {}
      for (const endpoint of endpoints) {
        if (mini.has(endpoint.id)) mini.discard(endpoint.id)
        mini.add(documentOf(endpoint))
        byId.set(endpoint.id, endpoint)
      }
    },
    forget() {},
    ask(question) {
      const ids = all(question)
      return question.isList ? ids.slice(DEEP, DEEP + PAGE) : ids.slice(0, PAGE)
    },
    findsOf(question, ids) {
      const found = new Set(all(question))
      return ids.filter((id) => found.has(id)).length
    },
    async stop() {
      byId = new Map()
    },
  }
}

function documentOf(endpoint: SearchableEndpoint) {
  const { merchant } = endpoint
  const { text, labels, aboutStart, aboutEnd } = merchant
  const description = text.slice(endpoint.descriptionStart, endpoint.descriptionEnd)
  return {
    id: endpoint.id,
    title: text.slice(endpoint.titleStart, endpoint.descriptionStart),
    tags: endpoint.tags.join(' '),
    provider: text.slice(0, aboutStart),
    description: `${description} ${text.slice(aboutStart, aboutEnd)}`,
    url: labels.slice(endpoint.urlStart, endpoint.urlEnd),
  }
}

function usedMb(): number {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}
