import { randomUUID } from 'node:crypto'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { MayGoOn } from '../../async/background.js'
import { persist } from '../../async/persist.js'
import { DAY_MS } from '../../async/time.js'
import { createWaiters } from '../../async/waiters.js'
import type { DeliveryRight, DeliveryStore } from '../journal/deliveries.js'

export type DeliveryTurn =
  | { state: 'granted'; delivery: DeliveryRight }
  | { state: 'delivered'; key: string | null }
  /** Another answer is still on its way after the longest wait. */
  | { state: 'busy' }

interface DeliveriesOptions {
  store: DeliveryStore
  /** Unix milliseconds. */
  now: () => number
  /**
   * Milliseconds between two reads of a lease that another process holds; `undefined` where no other process can hold
   * one.
   */
  pollMs?: number | undefined
  log: { error(details: object, message: string): void }
}

/** An answer has a few hundred bytes: if it takes longer, the connection is gone or the process has died. */
const LEASE_MS = 5_000
/** A lease older than this is renewed before an answer is written under it. */
const FRESH_MS = 2_000
/** How many times to ask a store that is slower than a lease, before the success is withheld. */
const MAX_RENEWALS = 3
/** The longest wait of a caller while another one is answered. */
const MAX_WAIT_MS = 10_000
const retries = { firstMs: 250, lastMs: 5_000, isHolding: false }

/** After this time nobody repeats a request with its key. The key of a delivered success stays with the payment. */
const KEYS_KEPT_MS = 7 * DAY_MS
/** Keys that one commit deletes. */
const SWEEP_KEYS = 500

/** Deletes old Idempotency-Keys, a few at a time. `now` is in Unix milliseconds. */
export async function forgetOldKeys(
  store: Pick<DeliveryStore, 'forgetIdempotencyKeys'>,
  now: number,
  mayGoOn: MayGoOn,
): Promise<void> {
  const before = now - KEYS_KEPT_MS
  while (mayGoOn() && (await store.forgetIdempotencyKeys(before, SWEEP_KEYS)) === SWEEP_KEYS) {
    await nextTick()
  }
}

/**
 * Gives each success to one caller. The second caller waits until the first was answered or lost its connection. Within
 * this process a right is never granted twice at a time, whatever the clock says. Between processes the store's own clock
 * decides, and a right that has become old is confirmed before it is used.
 */
export function createDeliveries({ store, now, pollMs, log }: DeliveriesOptions) {
  const isShared = pollMs !== undefined
  /** The jobs whose success this process is delivering, or asks the store for the right to deliver. */
  const delivering = new Set<string>()
  const waiting = createWaiters<DeliveryTurn | undefined>()

  function announce(jobId: string, turn?: DeliveryTurn): void {
    delivering.delete(jobId)
    waiting.wake(jobId, turn)
  }

  /** Waits for a change, which this process announces; the time limit covers other processes and crashes. */
  const untilChange = (jobId: string, ms: number) => waiting.until(jobId, { ms: Math.max(1, ms) })

  /** Asks for the lease until the store answers in less time than the lease lasts. */
  async function lease(jobId: string, token: string) {
    for (let i = 0; i < MAX_RENEWALS; i++) {
      const askedAt = performance.now()
      const answer = await store.leaseDelivery(jobId, token, LEASE_MS)
      const isFresh = !isShared || performance.now() - askedAt < FRESH_MS
      if (answer.state !== 'granted' || isFresh) return { answer, askedAt }
    }
    throw new Error('the store takes longer to grant a delivery than the grant lasts')
  }

  /** Waits for the caller's turn. Resolves with `undefined` when the caller's connection closes meanwhile. */
  async function take(
    jobId: string,
    key: string | null,
    isConnected: () => boolean,
  ): Promise<DeliveryTurn | undefined> {
    const deadline = performance.now() + MAX_WAIT_MS
    for (;;) {
      if (!isConnected()) return undefined
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) return { state: 'busy' }
      if (delivering.has(jobId)) {
        const turn = await untilChange(jobId, leftMs)
        if (turn !== undefined) return turn
        continue
      }
      const token = randomUUID()
      delivering.add(jobId)
      const { answer, askedAt } = await lease(jobId, token).catch((error) => {
        announce(jobId)
        throw error
      })
      if (answer.state === 'granted') {
        return { state: 'granted', delivery: hold(jobId, token, key, askedAt) }
      }
      announce(jobId, answer.state === 'delivered' ? answer : undefined)
      if (answer.state === 'delivered') return answer
      await untilChange(jobId, Math.min(answer.leftMs, leftMs, pollMs ?? LEASE_MS))
    }
  }

  function hold(jobId: string, token: string, key: string | null, askedAt: number): DeliveryRight {
    let heldSince = askedAt
    return {
      async isHeld() {
        if (!isShared || performance.now() - heldSince < FRESH_MS) return true
        const { answer, askedAt } = await lease(jobId, token)
        heldSince = askedAt
        return answer.state === 'granted'
      },
      async complete() {
        await persistently(jobId, () => store.completeDelivery(jobId, token, key, now()))
        announce(jobId, { state: 'delivered', key })
      },
      async release() {
        try {
          await store.releaseDelivery(jobId, token)
        } finally {
          announce(jobId)
        }
      },
    }
  }

  /** Marks a delivered success, and tries until the store answers: a success that is not marked would be given again. */
  const persistently = (settlementId: string, mark: () => Promise<void>) =>
    persist(mark, {
      ...retries,
      onFailure: (err) => log.error({ err, settlementId }, 'a delivered success is not marked yet'),
    })

  return {
    take,
    /** Returns whether this process is answering a caller with the job's success at this moment. */
    isDelivering: (jobId: string) => delivering.has(jobId),
  }
}

export type Deliveries = ReturnType<typeof createDeliveries>
