import type { Hex } from 'viem'
import type { PaymentName } from './pay.js'

/** The line that the ledger keeps of a call before a payment is signed for it. */
export interface LedgerReservation extends LedgerSeller {
  /** The most that the call can cost, in atomic units of the asset. Of a channel: its deposit. */
  amount: string
  /** A digest of the whole call, by which the same call is known again. */
  call: string
  /** True of `upto`, which may charge less than was signed. Every other scheme moves what was signed or nothing. */
  isCeiling?: boolean | undefined
  /** The channel that the amount fills, where it fills one. */
  channel?: ChannelTerms | undefined
}

/** The seller that a line of the ledger is about, and the money. */
export interface LedgerSeller {
  network: string
  asset: string
  payTo: string
  /** The host that is called, with its port. */
  host: string
  /** The listing that names the payment, where there is one. */
  merchant?: string | undefined
}

/** A channel by `batch-settlement`. It is filled once, and its salt is random, so no other ledger signs for it. */
export interface ChannelTerms {
  channelId: Hex
  config: {
    payer: Hex
    payerAuthorizer: Hex
    receiver: Hex
    receiverAuthorizer: Hex
    token: Hex
    /** Seconds. */
    withdrawDelay: number
    salt: Hex
  }
  /** The price of the call that opens it, in atomic units. */
  price: string
  /** The call by which the seller is asked for what is left. */
  url: string
  method?: string | undefined
  toolName?: string | undefined
}

/** One step of a call. `at` is in Unix milliseconds. */
export type LedgerEvent = { v: 1; id: string; at: number } & (
  | ({ type: 'reserved' } & LedgerReservation)
  /** A payment is signed and about to leave. `validBefore` is in Unix seconds. */
  | { type: 'signed'; payment: PaymentName; validBefore: number }
  /** The call has ended, and nobody said whether the payment settled. */
  | { type: 'unknown' }
  | { type: 'settled'; amount: string; transaction: string }
  /**
   * Nothing is paid: nothing was signed (`unsigned`), the chain calls the authorization unused after its end (`unused`), or
   * the facilitator says that the chain does (`failed`).
   */
  | { type: 'released'; reason: 'unsigned' | 'unused' | 'failed' }
  /** The chain agrees with what the facilitator has given back. */
  | { type: 'agreed' }
  /** Calls that are too old to matter by themselves, as one sum for each seller, with what of `unproven` is in it. */
  | ({ type: 'carried'; amount: string; unproven?: string } & LedgerSeller)
  | ChannelEvent
)

/** One step of a channel. Its `id` is that of the call that filled it. */
type ChannelEvent =
  /** Another call wants a voucher of this amount; of none, where the seller is asked for what is left. */
  | { type: 'drawn'; call: string; amount: string }
  /** That call has ended. `total` is what the channel was charged by then, absent where nobody said so. */
  | { type: 'charged'; call: string; total?: string }
  /** The chain was read: whether the deposit is there or can never come, what is in the channel, and what of it is claimed. */
  | { type: 'read'; isThere: boolean; balance: string; claimed: string }
  /** All steps of earlier calls, as one. */
  | { type: 'counted'; signed: string; charged: string; calls: number; holder?: ChannelCall }

/** A call that draws on a channel. Amounts are totals of the channel in atomic units. */
export interface ChannelCall {
  call: string
  at: number
  /** The total that the seller may claim by its voucher. */
  total: string
  /** The total that the seller could claim by earlier vouchers. */
  before: string
}

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
export interface LedgerEntry extends Omit<LedgerReservation, 'channel'> {
  id: string
  at: number
  state: 'reserved' | 'signed' | 'unknown' | 'settled' | 'released' | 'carried'
  payment?: PaymentName
  validBefore?: number
  transaction?: string
  channel?: BuyerChannel
  /** Atomic units that count as spent. */
  spent: bigint
  /** Atomic units that a facilitator alone has given back: they count in `total` until the chain agrees. */
  unproven: bigint
}

/** A channel as its events leave it. Amounts are atomic units. */
export interface BuyerChannel extends ChannelTerms {
  /** The highest total that a voucher allows. */
  signed: bigint
  /** The total that calls were charged, as the seller counts. */
  charged: bigint
  calls: number
  /** The deposit, less what went back as the chain says. */
  balance: bigint
  /** The total that the seller has claimed, as the chain says. */
  claimed: bigint
  /** The call that draws on it now. Others wait. */
  holder?: ChannelCall
}

/** After this time others draw on a channel, because its call may have died. If it did not, the seller takes one of both. */
export const HOLD_MS = 30_000
export const DAY_MS = 86_400_000
export const WEEK_SECONDS = 604_800

/** Returns the calls in the order in which they were reserved. An event that comes too late for its call says nothing. */
export function entriesOf(events: readonly LedgerEvent[]): LedgerEntry[] {
  const entries = new Map<string, LedgerEntry>()
  for (const event of events) {
    const entry = entries.get(event.id)
    if (event.type === 'reserved' || event.type === 'carried') {
      if (entry === undefined) entries.set(event.id, begin(event))
    } else if (entry !== undefined) {
      follow(entry, event)
      if (entry.channel !== undefined) followChannel(entry, entry.channel, event)
    }
  }
  return [...entries.values()]
}

type Beginning = Extract<LedgerEvent, { type: 'reserved' | 'carried' }>

function begin(event: Beginning): LedgerEntry {
  const spent = BigInt(event.amount)
  if (event.type === 'carried') {
    const { v: _, type, unproven = '0', ...carried } = event
    return { ...carried, call: '', state: type, spent, unproven: BigInt(unproven) }
  }
  const { v: _, type, channel, ...reservation } = event
  const unproven = 0n
  if (channel === undefined) return { ...reservation, state: type, spent, unproven }
  const { id, at } = event
  const signed = BigInt(channel.price)
  const holder = { call: id, at, total: channel.price, before: '0' }
  const none = { charged: 0n, calls: 0, claimed: 0n }
  const opened: BuyerChannel = { ...channel, ...none, signed, balance: spent, holder }
  return { ...reservation, state: type, spent, unproven, channel: opened }
}

function follow(entry: LedgerEntry, event: Exclude<LedgerEvent, Beginning>): void {
  const isOut = entry.state === 'signed' || entry.state === 'unknown'
  if (event.type === 'signed' && entry.state === 'reserved') {
    const { payment, validBefore } = event
    Object.assign(entry, { state: 'signed', payment, validBefore })
  } else if (event.type === 'unknown' && isOut) {
    entry.state = 'unknown'
  } else if (event.type === 'settled' && isOut) {
    const spent = chargedOf(entry, event.amount)
    const unproven = entry.spent - spent
    Object.assign(entry, { state: 'settled', transaction: event.transaction, spent, unproven })
  } else if (event.type === 'released') {
    // A signed payment may have left, so only the chain takes it back, or the facilitator for it.
    const isMeant = event.reason === 'unsigned' ? entry.state === 'reserved' : isOut
    const unproven = event.reason === 'failed' ? entry.spent : 0n
    if (isMeant) Object.assign(entry, { state: 'released', spent: 0n, unproven })
  } else if (event.type === 'agreed') {
    entry.unproven = 0n
  }
}

/**
 * Returns what a settled payment cost, by the word of somebody else: never less than nothing and never more than was
 * signed. Only a ceiling can have cost less.
 */
function chargedOf({ spent, isCeiling }: LedgerEntry, said: string): bigint {
  if (isCeiling !== true || !/^\d{1,78}$/.test(said)) return spent
  return BigInt(said) < spent ? BigInt(said) : spent
}

function followChannel(entry: LedgerEntry, channel: BuyerChannel, event: LedgerEvent): void {
  const { holder } = channel
  if (event.type === 'drawn') {
    const isFree = holder === undefined || event.at - holder.at > HOLD_MS
    const total = channel.charged + BigInt(event.amount)
    if (!isFree || total > channel.balance) return
    const { call, at } = event
    channel.holder = { call, at, total: `${total}`, before: `${channel.signed}` }
    channel.signed = larger(channel.signed, total)
  } else if (event.type === 'charged') {
    if (holder?.call !== event.call) return
    delete channel.holder
    const total = event.total === undefined ? undefined : BigInt(event.total)
    if (total === undefined || total > channel.signed) return
    if (total > channel.charged) channel.calls++
    channel.charged = larger(total, channel.claimed)
  } else if (event.type === 'read') {
    if (!event.isThere) return void Object.assign(entry, { state: 'released', spent: 0n })
    const balance = BigInt(event.balance)
    if (balance < channel.balance) channel.balance = balance
    channel.claimed = larger(channel.claimed, BigInt(event.claimed))
    channel.charged = larger(channel.charged, channel.claimed)
    Object.assign(entry, { state: 'settled', spent: channel.balance })
  } else if (event.type === 'counted') {
    const { signed, charged, calls } = event
    Object.assign(channel, { signed: BigInt(signed), charged: BigInt(charged), calls })
    if (event.holder === undefined) delete channel.holder
    else channel.holder = event.holder
  }
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** Returns whether money of a channel can still come back, or go to the seller. */
export function isOpen({ state, channel }: LedgerEntry): boolean {
  return channel !== undefined && state !== 'released' && channel.balance > channel.claimed
}

/**
 * Returns events that say as much for every limit, with one line for each seller in place of the calls that are older than
 * two days and decided, and of those that nobody will decide any more. A call that nobody signed for in that time has none.
 * The same events and time give the same.
 */
export function foldEvents(events: readonly LedgerEvent[], now: number): LedgerEvent[] {
  const kept = new Map<string, LedgerEntry>()
  const sums = new Map<string, Extract<LedgerEvent, { type: 'carried' }>>()
  for (const entry of entriesOf(events)) {
    if (isNeeded(entry, now)) {
      kept.set(entry.id, entry)
    } else if (entry.spent + entry.unproven > 0n && entry.state !== 'reserved') {
      const { id, at, network, asset, host, payTo, merchant } = entry
      const seller = { network, asset, host, payTo, ...(merchant !== undefined && { merchant }) }
      const key = JSON.stringify(seller)
      const sum = sums.get(key)
      const amount = `${BigInt(sum?.amount ?? 0) + entry.spent}`
      const given = BigInt(sum?.unproven ?? 0) + entry.unproven
      const unproven = given > 0n ? { unproven: `${given}` } : {}
      // The newest time lets a sum of a clock that went wrong count for longer, never for less.
      const latest = Math.max(at, sum?.at ?? at)
      sums.set(key, {
        v: 1,
        id: sum?.id ?? id,
        type: 'carried',
        at: latest,
        ...seller,
        amount,
        ...unproven,
      })
    }
  }
  const isKept = ({ id, type }: LedgerEvent) =>
    kept.has(id) && type !== 'drawn' && type !== 'charged' && type !== 'counted'
  const counted = [...kept.values()].flatMap(({ id, channel }): LedgerEvent[] => {
    if (channel === undefined) return []
    const { signed, charged, calls, holder } = channel
    const totals = { signed: `${signed}`, charged: `${charged}`, calls }
    return [{ v: 1, id, at: now, type: 'counted', ...totals, ...(holder && { holder }) }]
  })
  return [...sums.values(), ...events.filter(isKept), ...counted]
}

function isNeeded(entry: LedgerEntry, now: number): boolean {
  const { state, at, validBefore = 0 } = entry
  const isUndecided = state === 'signed' || state === 'unknown'
  const isRecent = now - at <= 2 * DAY_MS
  return isRecent || isOpen(entry) || (isUndecided && now <= (validBefore + WEEK_SECONDS) * 1_000)
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
