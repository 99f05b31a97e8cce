import type { PaymentName } from './pay.js'

/** The line that the ledger keeps of a call before a payment is signed for it. */
export interface Reservation {
  /** The most that the call can cost, in atomic units of the asset. */
  amount: string
  network: string
  asset: string
  payTo: string
  /** The host that is called, with its port. */
  host: string
  /** The listing that names the payment, where there is one. */
  merchant?: string | undefined
  /** A digest of the whole call, by which the same call is known again. */
  call: string
}

/** One step of a call. `at` is in Unix milliseconds. */
export type LedgerEvent = { v: 1; id: string; at: number } & (
  | ({ type: 'reserved' } & Reservation)
  /** A payment is signed and about to leave. `validBefore` is in Unix seconds. */
  | { type: 'signed'; payment: PaymentName; validBefore: number }
  /** The call has ended, and nobody said whether the payment settled. */
  | { type: 'unknown' }
  | { type: 'settled'; amount: string; transaction: string }
  /** Nothing is paid: nothing was signed (`unsigned`), or the facilitator says so and it is too late now (`failed`). */
  | { type: 'released'; reason: 'unsigned' | 'failed' }
)

/**
 * Keeps the steps of all calls in one order, the same for every process. That order decides who was first, so no lock is
 * needed. A database does this with an insert and a select.
 */
export interface Ledger {
  /** Adds an event. Resolves when it is on disk, to all events in their order, this one among them. */
  append(event: LedgerEvent): Promise<readonly LedgerEvent[]>
  read(): Promise<readonly LedgerEvent[]>
}

/** A call as its events leave it. */
export interface LedgerEntry extends Reservation {
  id: string
  at: number
  state: 'reserved' | 'signed' | 'unknown' | 'settled' | 'released'
  payment?: PaymentName
  validBefore?: number
  transaction?: string
  /** Atomic units that count as spent. */
  spent: bigint
}

/** Returns the calls in the order in which they were reserved. An event that comes too late for its call says nothing. */
export function entriesOf(events: readonly LedgerEvent[]): LedgerEntry[] {
  const entries = new Map<string, LedgerEntry>()
  for (const event of events) {
    const entry = entries.get(event.id)
    if (event.type !== 'reserved') {
      if (entry !== undefined) follow(entry, event)
      continue
    }
    if (entry !== undefined) continue
    const { v: _, type, ...reservation } = event
    entries.set(event.id, { ...reservation, state: type, spent: BigInt(event.amount) })
  }
  return [...entries.values()]
}

function follow(entry: LedgerEntry, event: Exclude<LedgerEvent, { type: 'reserved' }>): void {
  const isOut = entry.state === 'signed' || entry.state === 'unknown'
  if (event.type === 'signed' && entry.state === 'reserved') {
    const { payment, validBefore } = event
    Object.assign(entry, { state: 'signed', payment, validBefore })
  } else if (event.type === 'unknown' && isOut) {
    entry.state = 'unknown'
  } else if (event.type === 'settled' && isOut) {
    const { amount, transaction } = event
    const spent = BigInt(amount) < entry.spent ? BigInt(amount) : entry.spent
    Object.assign(entry, { state: 'settled', transaction, spent })
  } else if (event.type === 'released') {
    // What was signed may have left, so only the facilitator takes it back.
    const isMeant = event.reason === 'failed' ? isOut : entry.state === 'reserved'
    if (isMeant) Object.assign(entry, { state: 'released', spent: 0n })
  }
}

/** Creates a ledger that ends with its process: for tests, and for pages that keep the events themselves. */
export function createMemoryLedger(events: LedgerEvent[] = []): Ledger {
  return {
    async append(event) {
      events.push(event)
      return events
    },
    async read() {
      return events
    },
  }
}
