import { randomUUID } from 'node:crypto'
import type { DeliveryStore } from '../store/deliveries.js'

/** The right to tell one caller of success. Exactly one of the two must follow. */
export interface Delivery {
  /** The answer has left completely. */
  complete(): Promise<void>
  /** The connection closed before; the next caller may be told. */
  release(): Promise<void>
}

export type DeliveryTurn =
  | { state: 'granted'; delivery: Delivery }
  | { state: 'delivered'; key: string | null }

/** An answer is a few hundred bytes: a connection that takes longer is gone, or its process is. */
const LEASE_MS = 5_000

/**
 * Lets one caller after another try to be the one who is told "paid": whoever comes second waits until the
 * first was told or lost its connection.
 */
export function createDeliveries(
  store: DeliveryStore,
  now: () => number,
  /** How often a lease that another process holds is looked at, milliseconds. */
  pollMs = Number.POSITIVE_INFINITY,
) {
  const changed = new Map<string, Set<() => void>>()

  function announce(jobId: string): void {
    const listeners = changed.get(jobId)
    changed.delete(jobId)
    for (const listener of listeners ?? []) listener()
  }

  /** In this process the change is told; looking again covers another process, the lease's end a crash. */
  function waitForChange(jobId: string, until: number): Promise<void> {
    return new Promise((resolve) => {
      const listeners = changed.get(jobId) ?? new Set()
      changed.set(jobId, listeners)
      const timer = setTimeout(done, Math.max(1, Math.min(until - now(), pollMs)))
      function done(): void {
        clearTimeout(timer)
        listeners.delete(done)
        resolve()
      }
      listeners.add(done)
    })
  }

  /** Resolves `undefined` when the caller's connection closes while it waits. */
  async function take(
    jobId: string,
    key: string | null,
    isConnected: () => boolean,
  ): Promise<DeliveryTurn | undefined> {
    for (;;) {
      if (!isConnected()) return undefined
      const token = randomUUID()
      const lease = await store.leaseDelivery(jobId, token, now(), now() + LEASE_MS)
      if (lease.state === 'delivered') return lease
      if (lease.state === 'granted') return { state: 'granted', delivery: hold(jobId, token, key) }
      await waitForChange(jobId, lease.until)
    }
  }

  function hold(jobId: string, token: string, key: string | null): Delivery {
    return {
      async complete() {
        await store.completeDelivery(jobId, token, key, now())
        announce(jobId)
      },
      async release() {
        await store.releaseDelivery(jobId, token)
        announce(jobId)
      },
    }
  }

  return { take }
}

export type Deliveries = ReturnType<typeof createDeliveries>
