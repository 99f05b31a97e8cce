import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BazaarStatus } from '@arcus/protocol/x402/bazaar'
import { circleTokens } from '@arcus/protocol/x402/currencies'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { toHanded } from '../../../../src/app/directory/answer-queue.js'
import { writeAnswers, writeOffer } from '../../../../src/app/directory/handed-over.js'
import { createIntake } from '../../../../src/app/directory/intake.js'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import type { HandedAnswer } from '../../../../src/directory/activity/recorder.js'
import {
  type OfferedResource,
  readOffer,
} from '../../../../src/directory/seen-in-payments/offer.js'
import { StoreUnavailableError } from '../../../../src/sql/errors.js'
import { startDirectory } from '../../../support/a-directory.js'
import { runEvery } from '../../../support/run-every.js'
import { aSettledPayment } from '../../directory/seen-in-payments/an-offer.js'
import { anAnswer } from './an-answer.js'

const LOOK_MS = 250

let folder: string
let stores: ReturnType<typeof openSqliteStores>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arcus-intake-'))
  stores = openSqliteStores(join(folder, 'arcus.db'))
})

afterEach(async () => {
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

type Options = Parameters<typeof createIntake>[0] & { isKeeper?: () => boolean }

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** Takes in what waits, into lists unless wished otherwise. */
function anIntake(wish: Partial<Options['directory']> = {}, over: Partial<Options> = {}) {
  const taken: HandedAnswer[] = []
  const logged: object[] = []
  const warn = (details: object) => logged.push(details)
  const intake = createIntake({
    outbox: stores.outbox,
    directory: {
      keepAnswers: async (answers) => void taken.push(...answers),
      takeOffer: async () => ({ status: 'processing' }),
      takeBare: async () => {},
      noteRefusal() {},
      ...wish,
    },
    now: Date.now,
    log: { warn },
    ...over,
  })
  const { isKeeper = () => true } = over
  stops.push(runEvery(LOOK_MS, intake.takeWaiting, { keeper: true, isKeeper, warn }).stop)
  return { ...intake, taken, logged }
}

const count = (table: string, where = '1') =>
  stores.database.prepare(`SELECT count(*) FROM ${table} WHERE ${where}`).pluck().get() as number

const untilEmpty = () => vi.waitUntil(() => count('outbox') === 0, { timeout: 30_000 })

/** Hands over one row of one answer, unless several are given. */
const hand = (...answers: ReturnType<typeof anAnswer>[]) =>
  stores.outbox.append(
    'answers',
    writeAnswers((answers.length === 0 ? [anAnswer()] : answers).map(toHanded)),
  )

const settledAt = (answers: readonly HandedAnswer[]) => answers.map(({ at }) => at)

function anOffer(): OfferedResource {
  const read = readOffer(aSettledPayment(), {
    networks: new Map([['eip155:5042', circleTokens['eip155:5042']]]),
    targetRules: { allowPrivateHosts: false, ownOrigins: [] },
    isPayToBlocked: () => false,
  })
  if (!read?.ok) throw new Error('not an offer')
  return read.offer
}

it('what became of an offer is forgotten after some minutes', async () => {
  const [at, minute] = [Date.now(), 60_000]
  const noteAt = (key: string, time: number) =>
    stores.outbox.noteOutcome({ key, fingerprint: '', status: '{}', at: time })
  await noteAt('old', at - 6 * minute)
  await noteAt('new', at - minute)
  anIntake({}, { now: () => at })
  await vi.waitUntil(() => count('offer_outcomes') === 1)
  expect(await stores.outbox.outcomesOf(['old', 'new'])).toMatchObject([{ key: 'new' }])
})

describe('the intake', () => {
  it('takes in every row in its order, and removes it', async () => {
    const answers = Array.from({ length: 50 }, () => anAnswer())
    for (const answer of answers) await hand(answer)
    const { taken, lost } = anIntake()
    await untilEmpty()
    expect(taken).toEqual(answers.map(toHanded))
    expect(lost()).toBe(0)
  })

  it('reports what the catalog made of an offer, and notes a refusal', async () => {
    const offer = anOffer()
    const refused = { url: 'https://a.example/x', payTo: offer.terms.payTo, rejectedReason: 'No.' }
    await stores.outbox.append('offer', writeOffer({ offer }))
    await stores.outbox.append('offer', writeOffer({ refused }))
    const takeOffer = vi.fn(async (): Promise<BazaarStatus> => ({ status: 'success' }))
    const noteRefusal = vi.fn()
    anIntake({ takeOffer, noteRefusal }, { now: () => 1_000_000 })
    await untilEmpty()
    expect(takeOffer).toHaveBeenCalledExactlyOnceWith(offer)
    expect(noteRefusal).toHaveBeenCalledExactlyOnceWith(refused)
    const { key, fingerprint } = offer
    const outcome = { key, fingerprint, status: '{"status":"success"}', at: 1_000_000 }
    expect(await stores.outbox.outcomesOf([key])).toEqual([outcome])
  })

  it('reports later what became of a payment that its buyer did not describe, and waits for none', async () => {
    const { key, fingerprint, terms } = anOffer()
    const bare = { key, fingerprint, ...terms, settlementId: '1', url: 'https://a.example/x' }
    await stores.outbox.append('offer', writeOffer({ bare }))
    let report: (status: BazaarStatus) => Promise<void> = async () => {}
    const takeBare = vi.fn(async (_, later: typeof report) => {
      report = later
    })
    anIntake({ takeBare }, { now: () => 1_000_000 })
    await untilEmpty()
    expect(takeBare).toHaveBeenCalledExactlyOnceWith(bare, expect.any(Function))
    expect(await stores.outbox.outcomesOf([key])).toEqual([])
    await report({ status: 'success' })
    const outcome = { key, fingerprint, status: '{"status":"success"}', at: 1_000_000 }
    expect(await stores.outbox.outcomesOf([key])).toEqual([outcome])
  })

  it('leaves everything to the process that keeps it', async () => {
    let isKeeper = false
    await hand()
    const { taken } = anIntake({}, { isKeeper: () => isKeeper })
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect([taken.length, count('outbox')]).toEqual([0, 1])
    isKeeper = true
    await untilEmpty()
    expect(taken).toHaveLength(1)
  })

  it('tries a row again that could not be taken in, and holds up no other', async () => {
    const [bad, good] = [anAnswer(), anAnswer()]
    await hand(bad)
    await hand(good)
    let isBroken = true
    const taken: number[] = []
    const { lost, logged } = anIntake({
      async keepAnswers(answers) {
        if (isBroken && answers[0]?.at === bad.at) throw new Error('disk full')
        taken.push(...settledAt(answers))
      },
    })
    await vi.waitUntil(() => taken.length === 1 && count('outbox') === 1)
    expect(taken).toEqual([good.at])
    isBroken = false
    await untilEmpty()
    expect(taken).toEqual([good.at, bad.at])
    expect(lost()).toBe(0)
    expect(logged.length).toBeGreaterThan(0)
  })

  it('gives a row up that fails five times, and counts it', async () => {
    await hand()
    await stores.outbox.append('answers', 'no JSON')
    await stores.outbox.append('offer', '{}')
    const keepAnswers = vi.fn(async () => {
      throw new Error('never')
    })
    const { lost } = anIntake({ keepAnswers })
    await untilEmpty()
    expect(keepAnswers).toHaveBeenCalledTimes(5)
    await vi.waitUntil(() => lost() === 3)
  })

  it('gives no row up because the database is away, and takes none in twice', async () => {
    const answers = [anAnswer(), anAnswer(), anAnswer()]
    for (const answer of answers) await hand(answer)
    let tries = 0
    const taken: number[] = []
    const { lost, logged } = anIntake({
      async keepAnswers(given) {
        if (given[0]?.at === answers[1]?.at && ++tries <= 7)
          throw new StoreUnavailableError('locked')
        taken.push(...settledAt(given))
      },
    })
    await untilEmpty()
    expect(taken).toEqual(answers.map(({ at }) => at))
    expect([lost(), logged.length]).toEqual([0, 7])
  })
})

describe('a crash between taking a row in and removing it', () => {
  /** A thread of the directory over the same file, which dies as it removes rows, unless it may. */
  async function aThread(mayRemove: boolean) {
    const own = openSqliteStores(join(folder, 'arcus.db'))
    const world = await startDirectory({ stores: own, isIdle: true })
    const removed = vi.fn()
    const outbox = {
      ...own.outbox,
      async remove(ids: readonly number[]) {
        if (ids.length === 0) return
        removed()
        // Nothing follows, as after the end of a thread.
        if (!mayRemove) await new Promise(() => {})
        await own.outbox.remove(ids)
      },
    }
    const intake = createIntake({
      outbox,
      directory: world.directory.ports,
      now: Date.now,
      log: { warn() {} },
    })
    const { stop } = runEvery(LOOK_MS, intake.takeWaiting)
    stops.push(async () => {
      if (mayRemove) await stop()
      await world.close()
      await own.close()
    })
    return { removed }
  }

  it('counts no settled payment twice', async () => {
    const answers = Array.from({ length: 40 }, () => anAnswer())
    await hand(...answers.slice(0, 25))
    await hand(...answers.slice(25))
    const { removed } = await aThread(false)
    await vi.waitUntil(() => removed.mock.calls.length > 0)
    expect([count('outbox'), count('activity', "state = 'settled'")]).toEqual([2, 40])
    await aThread(true)
    await untilEmpty()
    expect(count('activity', "state = 'settled'")).toBe(40)
    const sums = new Sqlite(join(folder, 'arcus.db'), { readonly: true })
    const sum = (column: string) =>
      sums
        .prepare(
          `SELECT merchant_id, sum(${column}) AS sum FROM activity_sums WHERE state = 'settled' GROUP BY merchant_id`,
        )
        .all()
    expect(sum('count')).toEqual([{ merchant_id: expect.any(String), sum: 40 }])
    expect(sum('amount')).toEqual([{ merchant_id: expect.any(String), sum: 400_000 }])
    sums.close()
  })

  it('makes one entry of an offer', async () => {
    await stores.outbox.append('offer', writeOffer({ offer: anOffer() }))
    const { removed } = await aThread(false)
    await vi.waitUntil(() => removed.mock.calls.length > 0)
    await aThread(true)
    await untilEmpty()
    expect(count('endpoints')).toBe(1)
  })
})
