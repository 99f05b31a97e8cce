import { type BudgetLedger, CLOCK_SECONDS } from './budget-ledger.js'
import type { Call } from './calls.js'
import type { PaymentChain } from './chain.js'
import type { BuyerChannels } from './channels.js'
import { isOpen, type LedgerEntry, WEEK_SECONDS } from './ledger.js'

/** Payments that are looked up at once, and the pause before one is looked up again. */
const MAX_LOOKUPS = 10
const LOOKUP_PAUSE_MS = 5_000

/** The sources that decide what became of a payment. Without them payments count as spent for good. */
interface OutcomeSources {
  chain: PaymentChain | undefined
  /** Asks the facilitator. */
  call: Call | undefined
  channels: Pick<BuyerChannels, 'look'>
}

/** Finds out what became of payments that were signed, and books it. */
export class PaymentOutcomes {
  readonly #ledger: BudgetLedger
  readonly #sources: OutcomeSources
  /** When each payment was looked up last, in Unix milliseconds. */
  readonly #lookedUp = new Map<string, number>()

  constructor(ledger: BudgetLedger, sources: OutcomeSources) {
    this.#ledger = ledger
    this.#sources = sources
  }

  /**
   * Looks up payments whose outcome is unknown, and deposits of channels, and books the answers. With `isFull` the chain is
   * asked about all open channels too, and about what only the facilitator has given back.
   */
  async review({ urgent, isFull = false }: { urgent?: string; isFull?: boolean } = {}) {
    const entries = await this.#ledger.read()
    const now = Date.now()
    const isDue = (entry: LedgerEntry) =>
      (isUndecided(entry, now) || (isFull && this.#isHalfDecided(entry))) &&
      (entry.id === urgent || now - (this.#lookedUp.get(entry.id) ?? 0) > LOOKUP_PAUSE_MS)
    const due = entries.filter(isDue).slice(-MAX_LOOKUPS)
    await Promise.all(due.map((entry) => this.#lookUp(entry, now)))
  }

  /**
   * Returns what the sellers gave back of the last of these payments, in atomic units by their ids, as the service shows it.
   * It is there to be read only: a limit stays used by what was paid.
   */
  async readReturned(entries: readonly LedgerEntry[]): Promise<Map<string, bigint>> {
    const { call } = this.#sources
    const settled = entries.filter(({ state }) => state === 'settled').slice(0, MAX_LOOKUPS * 2)
    const returned = new Map<string, bigint>()
    const ask = async ({ id, payment }: LedgerEntry) => {
      if (call === undefined || payment === undefined) return
      const { asset, method, ...path } = payment
      const name = 'GET /payments/{network}/{payer}/{nonce}'
      const found = await call(name, { path, query: { asset, method } }).catch(() => undefined)
      if (found?.refund) returned.set(id, BigInt(found.refund.amount))
    }
    await Promise.all(settled.map(ask))
    return returned
  }

  #isHalfDecided(entry: LedgerEntry): boolean {
    return isOpen(entry) || (this.#sources.chain !== undefined && entry.unproven > 0n)
  }

  async #lookUp(entry: LedgerEntry, now: number): Promise<void> {
    this.#lookedUp.set(entry.id, now)
    // A node that does not answer decides nothing.
    if (entry.channel !== undefined) await this.#sources.channels.look(entry).catch(() => {})
    else if (entry.unproven > 0n) await this.#confirm(entry).catch(() => {})
    else await this.#lookUpPayment(entry)
  }

  /**
   * Asks the chain, or else the facilitator. Money comes back for an authorization that the chain calls unused after its
   * end, and for nothing else: until then the seller may still put it on chain, whatever failed before.
   */
  async #lookUpPayment({ id, amount, payment, validBefore = 0 }: LedgerEntry): Promise<void> {
    const ledger = this.#ledger
    const { chain, call } = this.#sources
    if (payment === undefined) return
    const use = await chain?.readUse(payment, validBefore).catch(() => undefined)
    if (use === 'unused') return void (await ledger.add({ type: 'released', id, reason: 'unused' }))
    const { asset, method, ...path } = payment
    const found = await call?.('GET /payments/{network}/{payer}/{nonce}', {
      path,
      query: { asset, method },
    }).catch(() => undefined)
    const { state, transaction } = found ?? {}
    if (state === 'confirmed' && transaction) {
      const charged = found?.amount ?? amount
      const entries = await ledger.add({ type: 'settled', id, amount: charged, transaction })
      const settled = entries.find((it) => it.id === id)
      if (settled !== undefined && settled.unproven > 0n) {
        await this.#confirm(settled).catch(() => {})
      }
      return
    }
    const isUnderWay = state === 'queued' || state === 'submitted'
    if (state === 'used' || (use === 'used' && !isUnderWay)) {
      // Others brought it on chain, and nobody here says for how much.
      await ledger.add({ type: 'settled', id, amount, transaction: transaction ?? '' })
    } else if (state === 'failed' && chain === undefined) {
      const isOver = Date.now() > (validBefore + CLOCK_SECONDS) * 1_000
      const isUnused = typeof found?.unusedAtBlock === 'number'
      if (isOver && isUnused) await ledger.add({ type: 'released', id, reason: 'failed' })
    }
  }

  /** Asks the chain whether it agrees with what the facilitator alone has given back. Rejects where no node answers. */
  async #confirm(entry: LedgerEntry): Promise<void> {
    const { chain } = this.#sources
    const { id, state, payment, validBefore = 0, payTo, spent: amount, at, transaction } = entry
    if (chain === undefined || payment === undefined) return
    if (state === 'released') {
      const isUnused = (await chain.readUse(payment, validBefore)) === 'unused'
      if (isUnused) await this.#ledger.add({ type: 'agreed', id })
      return
    }
    if (transaction === undefined || !isHash(transaction)) return
    const since = Math.floor(at / 1_000) - CLOCK_SECONDS
    const count = await chain.countTransfers(transaction, payment, { payTo, amount, since })
    // One transfer backs one payment.
    const backed = (await this.#ledger.read()).filter(
      (it) => it.id !== id && it.transaction === transaction && it.spent === amount,
    )
    if (count > backed.filter((it) => it.unproven === 0n).length) {
      await this.#ledger.add({ type: 'agreed', id })
    }
  }
}

function isUndecided({ state, validBefore = 0, channel }: LedgerEntry, now: number): boolean {
  return (
    (state === 'signed' || state === 'unknown') &&
    (channel !== undefined || now < (validBefore + WEEK_SECONDS) * 1_000)
  )
}

function isHash(text: string): text is `0x${string}` {
  return /^0x[0-9a-f]{64}$/i.test(text)
}
