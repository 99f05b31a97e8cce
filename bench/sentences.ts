import { createCatalog } from '../src/directory/discovery/catalog.js'
import { EndpointSearch } from '../src/directory/discovery/search.js'
import { createListingStore } from '../src/directory/store/sql/listings.js'
import { openDatabase } from '../src/sql/sqlite/database.js'
import { createGroupCommit } from '../src/sql/sqlite/group-commit.js'
import { createSql } from '../src/sql/sqlite/sql.js'
import { createCorpus } from './discovery-corpus.js'
import { line } from './figures.js'
import { questions } from './sentence-questions.js'
import { unreadQuestions } from './unread-questions.js'

/*
 * Three hundred questions in plain sentences, three about each of a hundred APIs that stand among ten thousand others.
 * `tsx bench/sentences.ts` prints how many first pages show the API that was meant, and how long a search takes.
 */

const OTHERS = 10_000
const PAGE = 20

const database = openDatabase(':memory:')
const store = createListingStore(createSql(database, createGroupCommit(database)))
const corpus = createCorpus(OTHERS)
const payTo = '0x3333333333333333333333333333333333333333' as const
const place = {
  network: 'eip155:5042',
  asset: '0x3600000000000000000000000000000000000000',
} as const

let owners = 0
/** Each merchant is of another seller, whose key it pays. */
const merchant = (id: string, name: string, description: string) => {
  const key = `0x${(++owners).toString(16).padStart(40, '0')}` as const
  return {
    id,
    name,
    description,
    payTo: key,
    owner: key,
    ...place,
    isOfficial: false,
    isPartner: false,
    hiddenReason: null,
  }
}
const endpoint = (url: string, title: string, description: string, tags: string[]) => ({
  url,
  title,
  description,
  tags,
  method: 'GET' as const,
  pricing: 'fixed' as const,
  price: 10_000n,
  asset: place.asset,
  symbol: 'USDC',
  example: {},
  inputSchema: null,
  output: { type: 'json' },
  extras: {},
  status: 'live' as const,
  probe: null,
  failures: 0,
  nextProbeAt: null,
  isHosted: false,
  accepts: [
    { scheme: 'exact', network: place.network, amount: '10000', asset: place.asset, payTo },
  ],
})

for (let at = 0; at < OTHERS; at += 10) {
  const number = corpus.merchantOf(at)
  const described = merchant(
    `merchant-${number}`,
    corpus.merchantName(number),
    corpus.merchantAbout(number),
  )
  const drafts = Array.from({ length: 10 }, (_, i) =>
    endpoint(
      `https://api-${number}.example.com/v1/${corpus.path(at + i)}`,
      corpus.title(at + i),
      corpus.description(at + i),
      corpus.tags(at + i),
    ),
  )
  await store.saveByOperator(described, drafts, 1_000)
}
for (const [i, { title, description }] of questions.entries()) {
  const described = merchant(`meant-${i}`, `House ${i}`, '')
  await store.saveByOperator(
    described,
    [endpoint(`https://meant-${i}.example`, title, description, [])],
    2_000,
  )
}

const catalog = createCatalog({ source: store, onFault: (fault) => line(String(fault)) })
catalog.start()
let list = await catalog.current()
while (list === undefined) {
  await new Promise((resolve) => setTimeout(resolve, 50))
  list = await catalog.current()
}
const search = new EndpointSearch(list)

const times: number[] = []

/** Returns how many first pages show the API that was meant. */
async function countHits(asked: readonly string[]): Promise<number> {
  let hits = 0
  for (const [i, query] of asked.entries()) {
    const startedAt = performance.now()
    const { ids } = search.rank({ filter: {}, query, limit: PAGE, after: undefined })
    times.push(performance.now() - startedAt)
    const entries = await store.entriesById(ids)
    if (entries.some(({ merchant }) => merchant.id === `meant-${i}`)) hits++
    else line(`missed: ${query}`)
  }
  return hits
}

const hits = await countHits(questions.map(({ question }) => question))
const blindHits = await countHits(questions.map(({ blind }) => blind))
const unreadHits = await countHits(unreadQuestions)
times.sort((a, b) => a - b)
line(
  `${hits} of ${questions.length} first pages show the API that was meant, ${blindHits} of blind questions, and ${unreadHits} of those whose author had not read the ranking`,
)
line(
  `a search takes ${times[times.length >> 1]?.toFixed(1)} ms at the median, ${times.at(-1)?.toFixed(1)} ms at most`,
)
await catalog.stop()
database.close()
