import { randomUUID } from 'node:crypto'
import { type DeliveryStore, RESTORED_KEY } from '../store/deliveries.js'

/** The right to tell one caller of success. Exactly one of `complete` and `release` must follow. */
export interface Delivery {
  /** Tells whether the right still holds; to be asked right before the answer is written. */
  isHeld(): Promise<boolean>
  /** The answer has left completely. Resolves once that is kept, however long the store takes. */
  complete(): Promise<void>
  /** The connection closed before; the next caller may be told. */
  release(): Promise<void>
}

export type DeliveryTurn =
  | { state: 'granted'; delivery: Delivery }
  | { state: 'delivered'; key: string | null }
  /** Another answer has been on its way for too long to wait for it. */
  | { state: 'busy' }

export interface DeliveriesOptions {
  store: DeliveryStore
  /** Unix milliseconds. */
  now: () => number
  /**
   * How often a lease that another process holds is looked at, milliseconds; `undefined` where no other process can hold
   * one.
   */
  pollMs?: number | undefined
  log: { error(details: object, message: string): void }
}

/** An answer is a few hundred bytes: a connection that takes longer is gone, or its process is. */
const LEASE_MS = 5_000
/** A lease older than this is renewed before an answer is written under it. */
const FRESH_MS = 2_000
/** A store that is slower than a lease is asked this often before the success is withheld. */
const MAX_RENEWALS = 3
/** How long a caller waits for the answer to another one. */
const MAX_WAIT_MS = 10_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 5_000

/**
 * Lets one caller after another try to be the one who is told "paid": whoever comes second waits until the first was told
 * or lost its connection. Within this process a grant that is out is never given twice, whatever the clock says; between
 * processes the store's own clock decides, and a grant that has become old is confirmed before it is used.
 */
export function createDeliveries({ store, now, pollMs, log }: DeliveriesOptions) {
  const isShared = pollMs !== undefined
  /** The jobs whose success this process is telling, or asks the store to tell. */
  const out = new Set<string>()
  const waiting = new Map<string, Set<(turn: DeliveryTurn | undefined) => void>>()

  function announce(jobId: string, turn?: DeliveryTurn): void {
    out.delete(jobId)
    const listeners = waiting.get(jobId)
    waiting.delete(jobId)
    for (const listener of listeners ?? []) listener(turn)
  }

  /** A change in this process is announced; looking again covers other processes, the lease's end covers a crash. */
  function untilChange(jobId: string, ms: number): Promise<DeliveryTurn | undefined> {
    return new Promise((resolve) => {
      const listeners = waiting.get(jobId) ?? new Set()
      waiting.set(jobId, listeners)
      const timer = setTimeout(done, Math.max(1, ms))
      function done(turn?: DeliveryTurn): void {
        clearTimeout(timer)
        listeners.delete(done)
        resolve(turn)
      }
      listeners.add(done)
    })
  }

  /** Leases until the store has answered in less time than the lease lasts. */
  async function lease(jobId: string, token: string) {
    for (let i = 0; i < MAX_RENEWALS; i++) {
      const askedAt = performance.now()
      const answer = await store.leaseDelivery(jobId, token, LEASE_MS)
      const isFresh = !isShared || performance.now() - askedAt < FRESH_MS
      if (answer.state !== 'granted' || isFresh) return { answer, askedAt }
    }
    throw new Error('the store takes longer to grant a delivery than the grant lasts')
  }

  /** Resolves `undefined` when the caller's connection closes while it waits. */
  async function take(
    jobId: string,
    key: string | null,
    isConnected: () => boolean,
  ): Promise<DeliveryTurn | undefined> {
    const patientUntil = performance.now() + MAX_WAIT_MS
    for (;;) {
      if (!isConnected()) return undefined
      const patience = patientUntil - performance.now()
      if (patience <= 0) return { state: 'busy' }
      if (out.has(jobId)) {
        const turn = await untilChange(jobId, patience)
        if (turn !== undefined) return turn
        continue
      }
      const token = randomUUID()
      out.add(jobId)
      const { answer, askedAt } = await lease(jobId, token).catch((error) => {
        announce(jobId)
        throw error
      })
      if (answer.state === 'granted') {
        return { state: 'granted', delivery: hold(jobId, token, key, askedAt) }
      }
      announce(jobId, answer.state === 'delivered' ? answer : undefined)
      if (answer.state === 'delivered') return answer
      await untilChange(jobId, Math.min(answer.leftMs, patience, pollMs ?? LEASE_MS))
    }
  }

  function hold(jobId: string, token: string, key: string | null, askedAt: number): Delivery {
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

  /** A success that was told and is not marked would be told again: the store is asked until it answers. */
  async function persistently(jobId: string, mark: () => Promise<void>): Promise<void> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        return await mark()
      } catch (err) {
        log.error({ err, settlementId: jobId }, 'a success that was told is not marked yet')
        await new Promise((resolve) => setTimeout(resolve, wait).unref())
      }
    }
  }

  return {
    take,
    /** Whether this process is telling a caller of the job's success at this moment. */
    isOut: (jobId: string) => out.has(jobId),
  }
}

export type Deliveries = ReturnType<typeof createDeliveries>

/** Returns the sentence for a payment whose success is not told any more; `key` is the one it was told to. */
export function describeTold(transaction: string | null, key: string | null | undefined): string {
  return key === RESTORED_KEY
    ? `This payment settled in ${transaction}. The database was restored since, so Arcus cannot say whether it was answered with success before.`
    : `This payment settled in ${transaction} and was already answered with success.`
}
