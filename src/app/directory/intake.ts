import type { BazaarStatus } from '@arcus/protocol/x402/bazaar'
import type { MayGoOn } from '../../async/background.js'
import type { Directory } from '../../directory/directory.js'
import { StoreUnavailableError } from '../../sql/errors.js'
import type { Outbox, OutboxKind, OutboxRow } from '../stores/outbox.js'
import { readAnswers, readOfferRow } from './handed-over.js'

interface PaymentIntakeOptions {
  outbox: Outbox
  directory: Pick<Directory['ports'], 'keepAnswers' | 'takeOffer' | 'takeBare' | 'noteRefusal'>
  /** Unix milliseconds. */
  now(): number
  log: { warn(details: object, message: string): void }
}

const ROWS_AT_ONCE = 20
/** A row that fails this number of times is removed, so that the rows behind it are taken in. */
const MAX_TRIES = 5
/** A facilitator reads the outcome of its offer within seconds, so that some minutes are enough. */
const OUTCOMES_KEPT_MS = 300_000

/**
 * Takes in what the facilitator hands over. A row is removed once it was taken in, so that a crash of this thread loses
 * nothing; a row that is taken in twice counts no payment twice.
 */
export function createIntake({ outbox, directory, now, log }: PaymentIntakeOptions) {
  const tries = new Map<number, number>()
  let lost = 0
  let forgetAt = 0

  async function takeAnswers({ body }: OutboxRow): Promise<void> {
    await directory.keepAnswers(readAnswers(body))
  }

  async function takeOffer({ body }: OutboxRow): Promise<void> {
    const handed = readOfferRow(body)
    if ('refused' in handed) return directory.noteRefusal(handed.refused)
    const { key, fingerprint } = 'offer' in handed ? handed.offer : handed.bare
    const report = (status: BazaarStatus) =>
      outbox.noteOutcome({ key, fingerprint, status: JSON.stringify(status), at: now() })
    if ('bare' in handed) return directory.takeBare(handed.bare, report)
    await report(await directory.takeOffer(handed.offer))
  }

  /** Returns whether the row is done with: it was taken in, or was tried often enough. */
  async function isDone(row: OutboxRow, take: (row: OutboxRow) => Promise<void>): Promise<boolean> {
    try {
      await take(row)
      tries.delete(row.id)
      return true
    } catch (err) {
      // That is no fault of the row: it stays until the database answers again.
      if (err instanceof StoreUnavailableError) throw err
      const count = (tries.get(row.id) ?? 0) + 1
      log.warn({ err, count }, 'something that the facilitator handed over could not be taken in')
      tries.set(row.id, count)
      if (count < MAX_TRIES) return false
      tries.delete(row.id)
      lost++
      return true
    }
  }

  async function takeAll(
    kind: OutboxKind,
    take: (row: OutboxRow) => Promise<void>,
    mayGoOn: MayGoOn,
  ): Promise<void> {
    for (let isMore = true; isMore && mayGoOn(); ) {
      const rows = await outbox.oldest(kind, ROWS_AT_ONCE)
      const done: number[] = []
      try {
        for (const row of rows) {
          if (!mayGoOn()) break
          if (await isDone(row, take)) done.push(row.id)
        }
      } finally {
        await outbox.remove(done)
      }
      // Rows that failed are tried again after a pause.
      isMore = rows.length === ROWS_AT_ONCE && done.length === rows.length
    }
  }

  return {
    /** Takes in all that waits. One process does it for all, so that figures are in order. */
    async takeWaiting(mayGoOn: MayGoOn): Promise<void> {
      await takeAll('answers', takeAnswers, mayGoOn)
      await takeAll('offer', takeOffer, mayGoOn)
      if (now() < forgetAt) return
      forgetAt = now() + OUTCOMES_KEPT_MS
      await outbox.forgetOutcomes(now() - OUTCOMES_KEPT_MS)
    },
    /** Counts the rows that could not be taken in at all. */
    lost: () => lost,
  }
}
