import { memberOf } from '@arcus/protocol/x402/json'
import type { SchemeNetworkClient } from '@x402/core/types'
import {
  computeChannelId,
  createBatchSettlementEIP3009DepositPayload,
  signVoucher,
} from '@x402/evm/batch-settlement/client'
import { getAddress, type Hex, toHex } from 'viem'
import { isOf, isSameSeller, judge, refusalError } from './budget.js'
import { type BudgetLedger, entriesBefore, RESERVED_MS } from './budget-ledger.js'
import { ArcusError } from './calls.js'
import type { PaymentChain } from './chain.js'
import {
  type BuyerChannel,
  type ChannelCall,
  type ChannelTerms,
  HOLD_MS,
  isOpen,
  type LedgerEntry,
} from './ledger.js'
import type { PaymentSigner } from './pay.js'
import type { PlannedPayment } from './planned-payment.js'
import {
  createHttpSeller,
  type PaymentPayload,
  type Seller,
  type SellerReply,
  type SellerRoute,
} from './sellers.js'
import { CHANNEL, isAmount, type PaymentRequired, type Requirement } from './terms.js'
import { createToolSeller } from './tools.js'

/** A channel as its buyer sees it. Amounts are atomic units. */
export interface ChannelStatus extends Pick<LedgerEntry, 'host' | 'payTo' | 'state'> {
  channelId: Hex
  deposit: bigint
  charged: bigint
  calls: number
  /** The rest of the deposit: further calls may draw it, or the seller may give it back. */
  left: bigint
  /** Why the seller did not give back what is left. */
  problem?: string
}

/** A call that draws on a channel. */
export interface Drawn {
  /** The id of the channel in the ledger. */
  id: string
  call: string
  price: bigint
  /** Signs the voucher, with the deposit if the channel is new. */
  client: SchemeNetworkClient
}

/** The cost of a call on a channel, in atomic units. It is decided once the seller or the chain has confirmed it. */
export interface BookedCall {
  cost: bigint
  isDecided: boolean
}

export interface ChannelsOptions {
  signer: PaymentSigner
  ledger: BudgetLedger
  /** Atomic units that a channel is filled with; without them none is opened and none is drawn on. */
  deposit: bigint | undefined
  /** Says what came back. Without it no channel is closed. */
  chain: PaymentChain | undefined
  fetch: typeof globalThis.fetch
}

/** Others who draw on the channel are waited for. */
const WAITS = 20
const WAIT_MS = 100

/**
 * Keeps the channels of a buyer. A deposit is all that a channel can lose, so it is reserved like a payment, once, and
 * vouchers take nothing from the limits. A seller has one channel at a time: another one is opened when it is used up.
 */
export class BuyerChannels {
  readonly #ledger: BudgetLedger
  /** It can sign typed data and nothing else. */
  readonly #account: PaymentSigner
  readonly #deposit: bigint | undefined
  readonly #chain: PaymentChain | undefined
  readonly #fetch: typeof globalThis.fetch

  constructor({ signer, ledger, deposit, chain, fetch }: ChannelsOptions) {
    this.#ledger = ledger
    this.#account = {
      address: signer.address,
      signTypedData: signer.signTypedData.bind(signer),
    }
    this.#deposit = deposit
    this.#chain = chain
    this.#fetch = fetch
  }

  /** False of a buyer who pays each call by itself. Channels of earlier times can still be closed. */
  get mayOpen(): boolean {
    return this.#deposit !== undefined
  }

  /** Returns what signs for a call, or the reason why it is not paid by channel. */
  async draw(
    planned: PlannedPayment,
    terms: Requirement,
    route: SellerRoute,
  ): Promise<Drawn | ArcusError> {
    const { budget } = this.#ledger
    const { reservation, item } = planned
    const price = BigInt(terms.amount)
    const refusal = judge([], budget, { ...reservation, item }, Date.now())
    if (refusal !== undefined) return refusalError(refusal, price, budget)
    for (let waits = 0; ; waits++) {
      const entry = this.#findUsable(await this.#ledger.read(), planned, price)
      const result =
        entry === undefined
          ? await this.#open(planned, terms, route)
          : await this.#drawOn(entry as LedgerEntry & { channel: BuyerChannel }, terms)
      if (result !== undefined) return result
      if (waits === WAITS) {
        const message = 'Another call is under way on the channel of this seller: call again later.'
        return new ArcusError('channel_busy', message, 409)
      }
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
    }
  }

  /**
   * Returns the last channel of a seller that is not used up, whether it can be drawn on or not. One that is half full is
   * not used up by a call that costs more: prices must not make a buyer fill one channel after another.
   */
  #findUsable(
    entries: readonly LedgerEntry[],
    { reservation }: PlannedPayment,
    price: bigint,
  ): LedgerEntry | undefined {
    return entries.findLast(
      (entry) =>
        entry.channel !== undefined &&
        entry.state !== 'released' &&
        (leftIn(entry.channel) >= price || leftIn(entry.channel) * 2n > BigInt(entry.amount)) &&
        this.#isOwn(entry) &&
        isOf(entry, this.#ledger.budget) &&
        isSameSeller(entry, reservation),
    )
  }

  /** Returns `undefined` where another call is under way. */
  async #drawOn(
    { id, at, state, channel }: LedgerEntry & { channel: BuyerChannel },
    terms: Requirement,
  ): Promise<Drawn | ArcusError | undefined> {
    const now = Date.now()
    if (state === 'reserved') {
      if (now - at > RESERVED_MS)
        await this.#ledger.add({ type: 'released', id, reason: 'unsigned' })
      return undefined
    }
    const isBusy = channel.holder !== undefined && now - channel.holder.at <= HOLD_MS
    if (isBusy) return undefined
    if (!isReady(channel, state, terms)) {
      const why =
        'is undecided, has less than the call costs, or other terms than the seller asks for now'
      const message = `The channel of this seller ${why}. No other one is opened while money is left in it.`
      return new ArcusError('channel_unusable', message, 409, { channelId: channel.channelId })
    }
    const call = crypto.randomUUID()
    const held = await this.#hold(id, call, terms.amount)
    if (held === undefined) return undefined
    const { channelId, config, holder } = held
    const createPaymentPayload = async (x402Version: number) => {
      const voucher = await this.#sign(channelId, holder.total)
      return { x402Version, payload: { type: 'voucher', channelConfig: config, voucher } }
    }
    return {
      id,
      call,
      price: BigInt(terms.amount),
      client: { scheme: CHANNEL, createPaymentPayload },
    }
  }

  /** Returns whether a channel pays for a call, so that the limits need not allow it any more. */
  async covers(planned: PlannedPayment, terms: Requirement): Promise<boolean> {
    const entries = await this.#ledger.read()
    const { channel, state } = this.#findUsable(entries, planned, BigInt(terms.amount)) ?? {}
    return channel !== undefined && isReady(channel, state, terms)
  }

  /** Reserves a voucher of the channel. Returns `undefined` where another call was first. */
  async #hold(id: string, call: string, amount: string): Promise<Held | undefined> {
    const entries = await this.#ledger.add({ type: 'drawn', id, call, amount })
    return heldBy(
      entries.find((entry) => entry.id === id),
      call,
    )
  }

  /** Reserves a deposit. Returns `undefined` where another call was first to open a channel of this seller. */
  async #open(
    planned: PlannedPayment,
    terms: Requirement,
    route: SellerRoute,
  ): Promise<Drawn | ArcusError | undefined> {
    const { amount: price, extra } = terms
    const asked = isAmount(extra.minDeposit) ? BigInt(extra.minDeposit) : 0n
    const least = asked > BigInt(price) ? asked : BigInt(price)
    const { budget } = this.#ledger
    const deposit = this.#deposit ?? 0n
    const cap = { limit: 'deposit', amount: deposit } as const
    if (least > deposit) {
      return refusalError({ limit: 'deposit', left: deposit, until: null }, least, budget)
    }
    const config = this.#createConfig(terms)
    const channelId = computeChannelId(config, budget.network)
    const id = crypto.randomUUID()
    const channel: ChannelTerms = { channelId, config, price, ...route }
    const reservation = { ...planned.reservation, amount: `${deposit}`, channel }
    try {
      await this.#ledger.reserve(id, { ...planned, reservation }, cap)
    } catch (error) {
      await this.#ledger.add({ type: 'released', id, reason: 'unsigned' })
      if (error instanceof ArcusError) return error
      throw error
    }
    const before = entriesBefore(await this.#ledger.read(), id)
    if (this.#findUsable(before, planned, BigInt(price)) !== undefined) {
      await this.#ledger.add({ type: 'released', id, reason: 'unsigned' })
      return undefined
    }
    const fill: SchemeNetworkClient['createPaymentPayload'] = (version, asked) =>
      createBatchSettlementEIP3009DepositPayload(
        this.#account,
        version,
        asked,
        config,
        `${deposit}`,
        price,
      )
    const client = { scheme: CHANNEL, createPaymentPayload: fill }
    return { id, call: id, price: BigInt(price), client }
  }

  /** Makes a channel that no other ledger knows. */
  #createConfig({ payTo, extra }: Requirement): ChannelTerms['config'] {
    const payer = getAddress(this.#account.address)
    return {
      payer,
      payerAuthorizer: payer,
      receiver: checksummed(payTo),
      receiverAuthorizer: checksummed(extra.receiverAuthorizer),
      token: checksummed(this.#ledger.budget.asset),
      withdrawDelay: Number(extra.withdrawDelay),
      salt: toHex(crypto.getRandomValues(new Uint8Array(32))),
    }
  }

  /**
   * Books how a call ended, with the answer of the seller if there was one. Returns what it cost; by the word of the seller
   * it never costs more than its voucher. Throws where the seller has counted an earlier call whose answer was lost.
   */
  async book({ id, call, price }: Drawn, reply?: SellerReply): Promise<BookedCall> {
    const { settlement } = reply ?? {}
    const isSuccess = settlement?.success === true
    const entry = await this.#ledger.find(id)
    if (entry?.state === 'reserved') {
      await this.#ledger.add({ type: 'released', id, reason: 'unsigned' })
    } else if (entry?.state === 'signed') {
      const { transaction = '' } = settlement ?? {}
      const settled = { type: 'settled', id, amount: entry.amount, transaction } as const
      await this.#ledger.add(isSuccess ? settled : { type: 'unknown', id })
    }
    const held = heldBy(entry, call)
    if (held === undefined) return { cost: price, isDecided: false }
    const { charged, holder } = held
    const said = memberOf(memberOf(settlement?.extra, 'channelState'), 'chargedCumulativeAmount')
    const isPlausible =
      isAmount(said) && BigInt(said) >= charged && BigInt(said) <= BigInt(holder.total)
    const paid = isPlausible ? said : holder.total
    const corrected = isSuccess ? undefined : correctionIn(reply, held)
    const total = isSuccess ? paid : corrected
    await this.#ledger.add({ type: 'charged', id, call, ...(total !== undefined && { total }) })
    if (isSuccess) return { cost: BigInt(paid) - charged, isDecided: true }
    // A node that does not answer decides nothing.
    await this.look(await this.#ledger.find(id)).catch(() => {})
    if (corrected === undefined) return { cost: price, isDecided: false }
    const message = `The seller has counted ${corrected} atomic units of the channel before this call and not ${charged}, because an answer was lost, and refused this one. Call again to buy it.`
    throw new ArcusError('outcome_unknown', message, 409)
  }

  /** Reads the chain, and books what it says of a channel: nobody else makes less of what counts as spent. */
  async look(entry: LedgerEntry | undefined): Promise<void> {
    const { budget } = this.#ledger
    if (this.#chain === undefined || entry === undefined || !isOf(entry, budget)) return
    const { id, channel, payment, validBefore = 0, state } = entry
    if (channel === undefined || payment === undefined) return
    const reading = await this.#chain.readChannel(channel, payment)
    const { isThere, balance, claimed, timestamp } = reading
    if (!isThere && timestamp < BigInt(validBefore)) return
    const isKnown =
      state === 'settled' && balance === channel.balance && claimed === channel.claimed
    if (isThere && isKnown) return
    const read = { isThere, balance: `${balance}`, claimed: `${claimed}` }
    await this.#ledger.add({ type: 'read', id, ...read })
  }

  /** Asks the seller for what is left, who signs that, and the facilitator pays it out. The chain says what came. */
  async #askBack(id: string): Promise<void> {
    await this.look(await this.#ledger.find(id))
    const { state, channel } = (await this.#ledger.find(id)) ?? {}
    if (state !== 'settled' || channel === undefined || leftIn(channel) <= 0n) return
    const { url, method, toolName } = channel
    const create = toolName === undefined ? createHttpSeller : createToolSeller
    const seller = create(this.#fetch, url, { ...(toolName ? { toolName } : method && { method }) })
    try {
      const { required, response } = await seller.ask()
      await response.body?.cancel()
      const accepted = required?.accepts.find((it) => isFor(channel, it))
      if (required === undefined || accepted === undefined) {
        throw new ArcusError('not_closed', 'The seller no longer offers the terms of the channel.')
      }
      const asked = { ...required, accepts: [accepted] }
      // A count that was wrong because an answer was lost is put right once.
      const reason =
        (await this.#refund(id, seller, asked)) && (await this.#refund(id, seller, asked))
      if (reason) throw new ArcusError('not_closed', `The seller gave nothing back: ${reason}.`)
    } finally {
      seller.close()
      await this.look(await this.#ledger.find(id))
    }
  }

  /** Asks once. Returns the reason why nothing came back, where nothing did. */
  async #refund(
    id: string,
    seller: Seller,
    { resource, extensions, accepts: [accepted] }: PaymentRequired,
  ): Promise<string | undefined> {
    const call = crypto.randomUUID()
    const held = await this.#hold(id, call, '0')
    if (held === undefined) return 'a call is under way on the channel'
    const { channelId, config, holder } = held
    const voucher = await this.#sign(channelId, holder.total)
    const payload = { type: 'refund', channelConfig: config, voucher }
    const envelope = {
      x402Version: 2,
      accepted,
      payload,
      resource,
      ...(extensions && { extensions }),
    }
    const reply = await seller.ask(envelope as PaymentPayload).catch(() => undefined)
    await reply?.response.body?.cancel()
    const { settlement, required } = reply ?? {}
    const total = correctionIn(reply, held)
    await this.#ledger.add({ type: 'charged', id, call, ...(total !== undefined && { total }) })
    if (settlement?.success === true) return undefined
    return settlement?.errorReason ?? required?.error ?? 'no reason'
  }

  /** Ends all channels of this payer. Resolves to them as the chain shows them afterwards. */
  async close(): Promise<ChannelStatus[]> {
    if (this.#chain === undefined) {
      throw new ArcusError('no_limit', 'Closing wants rpcUrl, a node that says what came back.')
    }
    const closed: ChannelStatus[] = []
    const entries = await this.#ledger.read()
    const open = entries.filter(
      (it) => isOpen(it) && this.#isOwn(it) && isOf(it, this.#ledger.budget),
    )
    for (const { id } of open) {
      const reason = await this.#askBack(id).then(
        () => undefined,
        (error: Error) => error.message,
      )
      const entry = await this.#ledger.find(id)
      const [status] = entry === undefined ? [] : statusOf(entry)
      if (status === undefined) continue
      const rest = status.left > 0n ? 'The chain does not show yet that it came back.' : undefined
      const problem = reason ?? rest
      closed.push({ ...status, ...(problem !== undefined && { problem }) })
    }
    return closed
  }

  #isOwn({ channel }: LedgerEntry): boolean {
    return channel?.config.payer === getAddress(this.#account.address)
  }

  /** Signs the voucher by which the seller may claim a total of the channel. */
  #sign(channelId: Hex, total: string) {
    return signVoucher(this.#account, channelId, total, this.#ledger.budget.network)
  }
}

type Held = BuyerChannel & { holder: ChannelCall }

/** Returns the channel of an entry while a call draws on it. */
function heldBy(entry: LedgerEntry | undefined, call: string): Held | undefined {
  const { channel } = entry ?? {}
  return channel?.holder?.call === call ? (channel as Held) : undefined
}

function isReady(
  channel: BuyerChannel,
  state: LedgerEntry['state'] | undefined,
  terms: Requirement,
) {
  return state === 'settled' && leftIn(channel) >= BigInt(terms.amount) && isFor(channel, terms)
}

/** Returns whether a seller asks for payments by this very channel. */
function isFor({ config }: BuyerChannel, offer: Requirement | null): boolean {
  const { receiver, token, receiverAuthorizer, withdrawDelay } = config
  const namesOf = (...names: unknown[]) => names.join().toLowerCase()
  const own = namesOf(CHANNEL, receiver, token, receiverAuthorizer, withdrawDelay)
  if (offer === null) return false
  const { scheme, payTo, asset, extra } = offer
  return own === namesOf(scheme, payTo, asset, extra?.receiverAuthorizer, extra?.withdrawDelay)
}

/**
 * Reads how much the seller says to have charged before a call that it refuses. More than earlier vouchers allow is never
 * believed: the ledger knows every voucher that has left.
 */
function correctionIn(reply: SellerReply | undefined, held: Held): string | undefined {
  const accepts = reply?.response.ok === false ? (reply.required?.accepts ?? []) : []
  const states = accepts.map((it) => memberOf(memberOf(it, 'extra'), 'channelState'))
  const own = states.find((it) => memberOf(it, 'channelId') === held.channelId)
  const total = memberOf(own, 'chargedCumulativeAmount')
  if (!isAmount(total) || BigInt(total) > BigInt(held.holder.before)) return undefined
  return BigInt(total) === held.charged ? undefined : total
}

function leftIn({ balance, charged }: BuyerChannel): bigint {
  return balance - charged
}

function checksummed(address: unknown): Hex {
  return getAddress(String(address).toLowerCase())
}

/** Returns a channel as its buyer sees it, in a list; nothing for a call that opened none. */
export function statusOf(entry: LedgerEntry): ChannelStatus[] {
  const { host, payTo, state, channel } = entry
  if (channel === undefined) return []
  const { channelId, charged, calls } = channel
  const left = channel.balance - charged
  return [{ host, payTo, state, channelId, deposit: BigInt(entry.amount), charged, calls, left }]
}
