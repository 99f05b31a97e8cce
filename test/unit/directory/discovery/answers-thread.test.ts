import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { CatalogQuestion } from '../../../../src/directory/discovery/answers.js'
import { createThreadedAnswers } from '../../../../src/directory/discovery/answers-thread.js'
import { createDiscovery, parseListQuery } from '../../../../src/directory/discovery/discovery.js'
import { anEndpoint, openListings } from '../../../support/directory/listed-merchants.js'

const ask = (query: Record<string, string>): CatalogQuestion => ({
  kind: 'resources',
  query: parseListQuery(query),
})

const until = (isSo: () => boolean) => vi.waitFor(() => expect(isSo()).toBe(true), 20_000)

describe('discovery over a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-test-'))
  const listings = openListings(join(folder, 'arcus.db'))
  const faults: unknown[] = []
  const discovery = createDiscovery({
    source: listings.database.name,
    store: listings.store,
    onFault: (fault) => faults.push(fault),
  })
  beforeAll(async () => {
    await listings.list('first', [anEndpoint({ title: 'Tides of Lisbon' })])
    discovery.start()
    await until(() => discovery.figures().endpoints === 1)
  }, 30_000)
  afterAll(async () => {
    await discovery.stop()
    await listings.close()
    rmSync(folder, { recursive: true })
  })

  const read = async (query: Record<string, string>) => {
    const answer = await discovery.answer(ask(query))
    if (answer.state !== 'made') throw new Error(answer.state)
    return { ...answer, page: JSON.parse(Buffer.from(answer.body.bytes).toString()) }
  }

  it('is answered on another thread, with every change that was committed before', async () => {
    expect((await read({ q: 'tides' })).page.pagination.total).toBe(1)
    for (let i = 0; i < 5; i++) {
      await listings.list(`later-${i}`, [anEndpoint({ title: `Winds ${i}` })])
      const { page, sequence } = await read({ q: `winds ${i}` })
      expect(page.items).toMatchObject([{ metadata: { title: `Winds ${i}` } }])
      expect(sequence).toBe(await listings.store.lastChange())
    }
    expect(faults).toEqual([])
  })

  it('shows an item as it was last saved, however often it was read before', async () => {
    for (const title of ['Once', 'Twice', 'Thrice']) {
      await listings.list('renamed', [anEndpoint({ title })])
      const { page } = await read({ merchant: 'renamed' })
      expect(page.items).toMatchObject([{ metadata: { title } }])
    }
    await listings.store.setFlags('renamed', { hiddenReason: 'Fraud' }, 2_000)
    expect((await read({ merchant: 'renamed' })).page.items).toEqual([])
  })
})

it('a dying thread answers the questions that wait, and is started again', async () => {
  const script = new URL('a-dying-thread.ts', import.meta.url)
  const answers = createThreadedAnswers({ script, source: 'unused', onFault() {} })
  expect(await answers.answer(ask({}))).toEqual({ state: 'loading' })
  answers.start()
  for (let round = 0; round < 2; round++) {
    await until(() => answers.figures().endpoints === 1)
    expect(await answers.answer(ask({}))).toEqual({ state: 'loading' })
    expect(answers.figures().endpoints).toBe(0)
  }
  await answers.stop()
}, 60_000)
