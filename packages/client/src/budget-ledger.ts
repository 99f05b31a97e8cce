import { type Budget, type Cap, iso, judge, refusalError } from './budget.js'
import { ArcusError } from './calls.js'
import { entriesOf, type Ledger, type LedgerEntry, type LedgerEvent } from './ledger.js'
import type { PlannedPayment } from './planned-payment.js'

type Distributed<Event> = Event extends LedgerEvent ? Omit<Event, 'v' | 'at'> : never
/** A step of the ledger as its writer gives it. */
export type LedgerStep = Distributed<LedgerEvent>

/** Longer than a call takes that nobody stopped. */
const CALL_MS = 120_000
/** Others who were first, and are refused or sign within moments, are waited for. */
const WAITS = 20
const WAIT_MS = 100
/** After this time somebody who reserved and did not sign is given up. */
export const RESERVED_MS = 60_000
/** Seconds by which the clocks of this machine and of the chain may differ. */
export const CLOCK_SECONDS = 60

/** The ledger of a buyer, whose reservations stay within the limits. */
export class BudgetLedger {
  readonly budget: Budget
  readonly #ledger: Ledger

  constructor(ledger: Ledger, budget: Budget) {
    this.budget = budget
    this.#ledger = ledger
  }

  /** Adds a step. Resolves to all calls as their steps leave them, with this step among these. */
  async add(step: LedgerStep): Promise<LedgerEntry[]> {
    return entriesOf(await this.#ledger.append({ v: 1, at: Date.now(), ...step }))
  }

  async read(): Promise<LedgerEntry[]> {
    return entriesOf(await this.#ledger.read())
  }

  async find(id: string): Promise<LedgerEntry | undefined> {
    return (await this.read()).find((entry) => entry.id === id)
  }

  /** Reserves the amount, or throws the reason why it is not paid. */
  async reserve(id: string, { reservation, item }: PlannedPayment, cap?: Cap): Promise<void> {
    const { budget } = this
    const amount = BigInt(reservation.amount)
    const wanted = { ...reservation, item, ...(cap !== undefined && { cap }) }
    let entries = await this.add({ type: 'reserved', id, ...reservation })
    for (let waits = 0; ; waits++) {
      const before = entriesBefore(entries, id)
      const refusal = judge(before, budget, wanted, Date.now())
      if (refusal === undefined) return
      const abandoned = before.filter(
        ({ state, at }) => state === 'reserved' && Date.now() - at > RESERVED_MS,
      )
      for (const { id } of abandoned) await this.add({ type: 'released', id, reason: 'unsigned' })
      const signed = before.filter(({ state }) => state !== 'reserved')
      const mayPass = judge(signed, budget, wanted, Date.now()) === undefined
      if (!mayPass || waits === WAITS) throw refusalError(refusal, amount, budget)
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
      entries = await this.read()
    }
  }

  /** Refuses a call whose last payment is undecided: a second one could buy the same twice. */
  async refuseUndecided(digest: string): Promise<void> {
    const entries = await this.read()
    const now = Date.now()
    const undecided = entries.find(
      ({ state, call, at, validBefore = 0 }) =>
        call === digest &&
        (state === 'unknown' || (state === 'signed' && now - at > CALL_MS)) &&
        now < (validBefore + CLOCK_SECONDS) * 1_000,
    )
    if (undecided === undefined) return
    const until = iso(((undecided.validBefore ?? 0) + CLOCK_SECONDS) * 1_000)
    const message = `The last payment for this very call is undecided, so it is not paid again before ${until}.`
    throw new ArcusError('outcome_unknown', message, 409, { payment: undecided.payment, until })
  }
}

/** Returns the calls that were reserved before this one. */
export function entriesBefore(entries: readonly LedgerEntry[], id: string): LedgerEntry[] {
  return entries.slice(
    0,
    entries.findIndex((entry) => entry.id === id),
  )
}
