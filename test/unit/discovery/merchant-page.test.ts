import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { composeDiscovery } from '../../../src/compose-discovery.js'
import type { Answer, Question } from '../../../src/discovery/answers.js'
import { parseBrowseQuery, parseListQuery } from '../../../src/discovery/queries.js'
import { unclaimedId } from '../../../src/store/unclaimed.js'
import { anEndpoint, openListings, payTo } from '../directory/listed-merchants.js'

/** Larger than a page that is made on the thread that asks. */
const MANY = 21
const schema = { type: 'object', properties: { text: { const: 'x'.repeat(16_000) } } }

const folder = mkdtempSync(join(tmpdir(), 'arcus-test-'))
const listings = openListings(join(folder, 'arcus.db'))
const { store } = listings
const open = () =>
  composeDiscovery({
    threadSource: listings.database.name,
    isShared: false,
    store,
    onFault(fault) {
      throw fault
    },
  })
const discovery = open()
const at = (path: string) => ({ url: `https://api.example.com/${path}`, title: `About ${path}` })
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

beforeAll(async () => {
  const few = ['c', 'a', 'b'].map((path) => anEndpoint(at(path)))
  await listings.list('few', [...few, anEndpoint({ ...at('d'), status: 'failing' })])
  await listings.list(
    'many',
    numbers(MANY).map((i) => anEndpoint(at(`m${i}`))),
  )
  await listings.list(
    'heavy',
    numbers(6).map((i) => anEndpoint({ ...at(`h${i}`), inputSchema: schema })),
  )
  await listings.list('hidden')
  await store.setFlags('hidden', { hiddenReason: 'Fraud' }, 2_000)
  await listings.list('deleted')
  await listings.write('deleted', { kind: 'delete' })
  await listings.list(unclaimedId(payTo), [anEndpoint({ ...at('found'), status: 'unverified' })])
  // Saved again: neither place nor number may move.
  await listings.list('few', [anEndpoint({ ...at('a'), title: 'Again' }), ...few.slice(2)])
}, 30_000)

afterAll(async () => {
  await discovery.stop()
  await listings.close()
  rmSync(folder, { recursive: true })
})

const list = (query: Record<string, string>): Question => ({
  kind: 'resources',
  query: parseListQuery(query),
})
const told = (answer: Answer) => {
  if (answer.state !== 'made') throw new Error(answer.state)
  const { body, sequence } = answer
  return { page: JSON.parse(Buffer.from(body.bytes).toString()), etag: body.etag, sequence }
}
const here = [
  { merchant: 'few' },
  { merchant: 'few', limit: '1', offset: '1' },
  { merchant: 'few', offset: '2' },
  { merchant: 'few', q: ' ', type: 'http' },
  { merchant: 'hidden' },
  { merchant: 'deleted' },
  { merchant: 'nobody' },
  { merchant: unclaimedId(payTo) },
].map(list)
const elsewhere = [
  list({}),
  list({ merchant: 'many', limit: '2' }),
  // Even for one of its items all would have to be read.
  list({ merchant: 'heavy', limit: '1' }),
  list({ merchant: 'few', q: 'about' }),
  list({ merchant: 'few', type: 'mcp' }),
  list({ merchant: 'few', scheme: 'exact' }),
  { kind: 'cards', query: parseBrowseQuery({ merchant: 'few' }) } satisfies Question,
]

it('is there before anything is read, and the same as what the index answers', async () => {
  const sequence = await store.lastChange()
  const before = []
  for (const question of here) before.push(told(await discovery.answer(question, sequence)))
  for (const question of elsewhere) {
    expect(await discovery.answer(question, sequence)).toEqual({ state: 'loading' })
  }
  discovery.start()
  await vi.waitFor(() => expect(discovery.figures().endpoints).toBeGreaterThan(0), 20_000)
  for (const [i, question] of here.entries()) {
    // Without a number of a change the thread is asked.
    expect(before[i], JSON.stringify(question)).toEqual(told(await discovery.answer(question)))
  }
  for (const question of elsewhere) {
    expect(await discovery.answer(question, sequence)).toMatchObject({ state: 'made' })
  }
}, 30_000)

it('is left to the index while payments are made', async () => {
  const idle = open()
  const [question] = here as [Question]
  idle.giveWay()
  expect(await idle.answer(question, 1)).toEqual({ state: 'loading' })
  await vi.waitFor(async () =>
    expect(await idle.answer(question, 1)).toMatchObject({ sequence: 1 }),
  )
  await idle.stop()
})
