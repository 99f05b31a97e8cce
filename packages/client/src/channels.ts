import { channelContracts } from '@arcus/protocol/x402/address'
import { memberOf } from '@arcus/protocol/x402/json'
import type { SchemeNetworkClient } from '@x402/core/types'
import {
  computeChannelId,
  createBatchSettlementEIP3009DepositPayload,
  signVoucher,
} from '@x402/evm/batch-settlement/client'
import { createPublicClient, getAddress, http, parseAbi, toHex } from 'viem'
import { type Budget, isOf, isSameSeller, judge, refusalError } from './budget.js'
import { ArcusError } from './calls.js'
import {
  type Channel,
  type ChannelTerms,
  HOLD_MS,
  isOpen,
  type LedgerEntry,
  type LedgerEvent,
  type Reservation,
} from './ledger.js'
import type { PaymentSigner } from './pay.js'
import {
  createHttpSeller,
  type Item,
  type PaymentPayload,
  type Reply,
  type SellerRoute,
} from './sellers.js'
import { CHANNEL, isAmount, type Requirement } from './terms.js'
import { createToolSeller } from './tools.js'

type Hex = `0x${string}`
type Distributed<Event> = Event extends LedgerEvent ? Omit<Event, 'v' | 'at'> : never
/** A step of the ledger as its writer gives it. */
export type Step = Distributed<LedgerEvent>

/** What a call reserves, and the listing that names its terms. */
export interface Wanted {
  reservation: Reservation
  item: Item | undefined
}

/** A channel as its buyer sees it. Amounts are atomic units. */
export interface ChannelStatus {
  channelId: Hex
  host: string
  payTo: string
  /** Unix milliseconds. */
  openedAt: number
  state: LedgerEntry['state']
  deposit: bigint
  charged: bigint
  calls: number
  /** What further calls may draw, or the seller may give back. */
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

export interface ChannelsOptions {
  signer: PaymentSigner
  budget: Budget
  /** Atomic units that a channel is filled with; without them none is opened and none is drawn on. */
  deposit: bigint | undefined
  rpcUrl: string | undefined
  fetch: typeof globalThis.fetch
  add(step: Step): Promise<LedgerEntry[]>
  read(): Promise<LedgerEntry[]>
  /** Reserves a deposit within the limits, or throws the limit that does not allow it. */
  reserve(id: string, wanted: Wanted): Promise<void>
}

/** Others who draw on the channel are waited for. */
const WAITS = 20
const WAIT_MS = 100
/** After this time somebody who reserved and did not sign is given up. */
export const RESERVED_MS = 60_000

const views = parseAbi([
  'function channels(bytes32) view returns (uint128 balance, uint128 totalClaimed)',
  'function authorizationState(address, bytes32) view returns (bool)',
])

/**
 * Keeps the channels of a buyer. A deposit is all that a channel can lose, so it is reserved like a payment, once, and
 * vouchers take nothing from the limits. A seller has one channel at a time: another one is opened when it is used up.
 */
export function createChannels(options: ChannelsOptions) {
  const { budget, deposit, rpcUrl, fetch, add, read, reserve } = options
  const { network, asset } = budget
  const { address } = options.signer
  const account = { address, signTypedData: options.signer.signTypedData.bind(options.signer) }
  const node = rpcUrl === undefined ? undefined : createPublicClient({ transport: http(rpcUrl) })
  const isOwn = ({ channel }: LedgerEntry) => channel?.config.payer === getAddress(address)

  const find = async (id: string) => (await read()).find((entry) => entry.id === id)

  /** Returns what signs for a call, or the reason why it is not paid by channel. */
  async function draw(
    wanted: Wanted,
    terms: Requirement,
    route: SellerRoute,
  ): Promise<Drawn | ArcusError> {
    const price = BigInt(terms.amount)
    const refusal = judge([], budget, { ...wanted.reservation, item: wanted.item }, Date.now())
    if (refusal !== undefined) return refusalError(refusal, price, budget)
    for (let waits = 0; ; waits++) {
      const entry = usableOf(await read(), wanted, price)
      const result =
        entry === undefined
          ? await open(wanted, terms, route)
          : await drawOn(entry as LedgerEntry & { channel: Channel }, terms)
      if (result !== undefined) return result
      if (waits === WAITS) {
        const message = 'Another call is under way on the channel of this seller: call again later.'
        return new ArcusError('channel_busy', message, 409)
      }
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
    }
  }

  /** Returns the last channel of a seller in which there is enough for a call, whether it can be drawn on or not. */
  function usableOf(entries: readonly LedgerEntry[], { reservation }: Wanted, price: bigint) {
    return entries.findLast(
      (entry) =>
        entry.channel !== undefined &&
        entry.state !== 'released' &&
        entry.channel.balance - entry.channel.charged >= price &&
        isOwn(entry) &&
        isOf(entry, budget) &&
        isSameSeller(entry, reservation),
    )
  }

  /** Returns `undefined` where another call is under way. */
  async function drawOn(
    { id, at, state, channel }: LedgerEntry & { channel: Channel },
    terms: Requirement,
  ): Promise<Drawn | ArcusError | undefined> {
    const now = Date.now()
    if (state === 'reserved') {
      if (now - at > RESERVED_MS) await add({ type: 'released', id, reason: 'unsigned' })
      return undefined
    }
    const isReady = state === 'settled' && isFor(channel, terms)
    const isBusy = channel.holder !== undefined && now - channel.holder.at <= HOLD_MS
    if (isBusy) return undefined
    if (!isReady) {
      const why = 'is undecided, or has other terms than the seller asks for now'
      const message = `The channel of this seller ${why}. No other one is opened while money is left in it.`
      return new ArcusError('channel_unusable', message, 409, { channelId: channel.channelId })
    }
    const call = crypto.randomUUID()
    const holder = await hold(id, call, terms.amount)
    if (holder === undefined) return undefined
    const client = schemeOf(async () => {
      const voucher = await signVoucher(account, channel.channelId, holder.total, network)
      return { type: 'voucher', channelConfig: channel.config, voucher }
    })
    return { id, call, price: BigInt(terms.amount), client }
  }

  /** Reserves a voucher of the channel. Returns `undefined` where another call was first. */
  async function hold(id: string, call: string, amount: string) {
    const entries = await add({ type: 'drawn', id, call, amount })
    const holder = entries.find((entry) => entry.id === id)?.channel?.holder
    return holder?.call === call ? holder : undefined
  }

  /** Reserves a deposit. Returns `undefined` where another call was first to open a channel of this seller. */
  async function open(
    wanted: Wanted,
    terms: Requirement,
    route: SellerRoute,
  ): Promise<Drawn | ArcusError | undefined> {
    const { amount: price, extra } = terms
    const asked = isAmount(extra.minDeposit) ? BigInt(extra.minDeposit) : 0n
    const least = asked > BigInt(price) ? asked : BigInt(price)
    const left = deposit ?? 0n
    if (least > left) return refusalError({ limit: 'deposit', left, until: null }, least, budget)
    const config = configOf(terms)
    const channelId = computeChannelId(config, network)
    const id = crypto.randomUUID()
    const channel: ChannelTerms = { channelId, config, price, ...route }
    const reservation = { ...wanted.reservation, amount: `${left}`, channel }
    try {
      await reserve(id, { ...wanted, reservation })
    } catch (error) {
      await add({ type: 'released', id, reason: 'unsigned' })
      if (error instanceof ArcusError) return error
      throw error
    }
    const entries = await read()
    const before = entries.slice(
      0,
      entries.findIndex((entry) => entry.id === id),
    )
    if (usableOf(before, wanted, BigInt(price)) !== undefined) {
      await add({ type: 'released', id, reason: 'unsigned' })
      return undefined
    }
    const client: SchemeNetworkClient = {
      scheme: CHANNEL,
      createPaymentPayload: (version, requirements) =>
        createBatchSettlementEIP3009DepositPayload(
          account,
          version,
          requirements,
          config,
          `${left}`,
          price,
        ),
    }
    return { id, call: id, price: BigInt(price), client }
  }

  /** Makes a channel that no other ledger knows. */
  function configOf({ payTo, extra }: Requirement): ChannelTerms['config'] {
    const payer = getAddress(address)
    return {
      payer,
      payerAuthorizer: payer,
      receiver: checksummed(payTo),
      receiverAuthorizer: checksummed(extra.receiverAuthorizer),
      token: checksummed(asset),
      withdrawDelay: Number(extra.withdrawDelay),
      salt: toHex(crypto.getRandomValues(new Uint8Array(32))),
    }
  }

  /**
   * Books how a call ended, with the answer of the seller if there was one. Returns what it cost; by the word of the seller
   * it never costs more than its voucher. Throws where the seller has counted an earlier call whose answer was lost.
   */
  async function book(
    { id, call, price }: Drawn,
    reply?: Reply,
  ): Promise<{ cost: bigint; isDecided: boolean }> {
    const { settlement } = reply ?? {}
    const isSuccess = settlement?.success === true
    const entry = await find(id)
    if (entry?.state === 'reserved') {
      await add({ type: 'released', id, reason: 'unsigned' })
    } else if (entry?.state === 'signed') {
      const { transaction = '' } = settlement ?? {}
      const settled = { type: 'settled', id, amount: entry.amount, transaction } as const
      await add(isSuccess ? settled : { type: 'unknown', id })
    }
    const holder = entry?.channel?.holder
    if (entry?.channel === undefined || holder?.call !== call)
      return { cost: price, isDecided: false }
    const { charged } = entry.channel
    const said = memberOf(memberOf(settlement?.extra, 'channelState'), 'chargedCumulativeAmount')
    const isPlausible =
      isAmount(said) && BigInt(said) >= charged && BigInt(said) <= BigInt(holder.total)
    const corrected = isSuccess
      ? undefined
      : correctionIn(reply, entry.channel, BigInt(holder.before))
    const total = isSuccess ? (isPlausible ? said : holder.total) : corrected
    await add({ type: 'charged', id, call, ...(total !== undefined && { total }) })
    if (isSuccess) return { cost: BigInt(total ?? 0) - charged, isDecided: true }
    await look(await find(id))
    if (corrected === undefined) return { cost: price, isDecided: false }
    const message = `The seller has counted an earlier call whose answer was lost (${corrected} atomic units of the channel, not ${charged}), and refused this one. Call again to buy it.`
    throw new ArcusError('outcome_unknown', message, 409)
  }

  /** Reads the chain, and books what it says of a channel: nobody else makes less of what counts as spent. */
  async function look(entry: LedgerEntry | undefined): Promise<void> {
    const { id = '', channel, payment, validBefore = 0, state } = entry ?? {}
    if (node === undefined || channel === undefined || payment === undefined) return
    const { channelId, config, balance, claimed } = channel
    const chainId = await node.getChainId()
    if (`eip155:${chainId}` !== network) throw new Error(`The node of rpcUrl is not on ${network}.`)
    // Both are read at one block: a node that lags behind would show a deposit that is not in the channel.
    const { number: blockNumber, timestamp } = await node.getBlock()
    const at = { abi: views, blockNumber } as const
    const [isThere, [inChannel, totalClaimed]] = await Promise.all([
      node.readContract({
        ...at,
        address: config.token,
        functionName: 'authorizationState',
        args: [config.payer, payment.nonce],
      }),
      node.readContract({
        ...at,
        address: getAddress(channelContracts.settlement),
        functionName: 'channels',
        args: [channelId],
      }),
    ])
    if (!isThere && timestamp < BigInt(validBefore)) return
    const isKnown = state === 'settled' && inChannel === balance && totalClaimed === claimed
    if (isThere && isKnown) return
    const read = { isThere, balance: `${inChannel}`, claimed: `${totalClaimed}` }
    await add({ type: 'read', id, ...read })
  }

  /** Asks the seller for what is left. The seller signs and the facilitator pays it out. */
  async function askBack(id: string, channel: Channel): Promise<void> {
    const { url, method, toolName, channelId, config } = channel
    const create = toolName === undefined ? createHttpSeller : createToolSeller
    const call = {
      ...(method !== undefined && { method }),
      ...(toolName !== undefined && { toolName }),
    }
    const seller = create(fetch, url, call)
    try {
      const first = await seller.ask()
      await first.response.body?.cancel()
      const accepted = first.required?.accepts.find((it) => isFor(channel, it))
      if (first.required === undefined || accepted === undefined) {
        throw new ArcusError('not_closed', 'The seller no longer offers the terms of the channel.')
      }
      const { resource, extensions } = first.required
      const envelope = { x402Version: 2, accepted, resource, ...(extensions && { extensions }) }
      for (let isLast = false; ; isLast = true) {
        const own = crypto.randomUUID()
        const holder = await hold(id, own, '0')
        if (holder === undefined) {
          throw new ArcusError('channel_busy', 'A call is under way on the channel.', 409)
        }
        const voucher = await signVoucher(account, channelId, holder.total, network)
        const payload = { type: 'refund', channelConfig: config, voucher }
        const reply = await seller
          .ask({ ...envelope, payload } as PaymentPayload)
          .catch(() => undefined)
        await reply?.response.body?.cancel()
        const current = (await find(id))?.channel
        const total = correctionIn(reply, current, BigInt(holder.before))
        await add({ type: 'charged', id, call: own, ...(total !== undefined && { total }) })
        if (reply?.settlement?.success === true) return
        if (total === undefined || isLast) {
          const why = reply?.settlement?.errorReason ?? reply?.required?.error ?? 'no reason'
          throw new ArcusError('not_closed', `The seller did not give it back: ${why}.`)
        }
      }
    } finally {
      seller.close()
    }
  }

  /** Ends all channels of this payer. Resolves to them as the chain shows them afterwards. */
  async function close(): Promise<ChannelStatus[]> {
    if (node === undefined) {
      throw new ArcusError(
        'no_limit',
        'Channels are closed with rpcUrl, a node that says what came back.',
      )
    }
    const problems = new Map<string, string>()
    const open = (await read()).filter((it) => isOpen(it) && isOwn(it) && isOf(it, budget))
    for (const { id } of open) {
      try {
        await look(await find(id))
        const { channel, state } = (await find(id)) ?? {}
        if (state !== 'settled' || channel === undefined) continue
        if (channel.balance > channel.charged) await askBack(id, channel)
        await look(await find(id))
      } catch (error) {
        problems.set(id, (error as Error).message)
      }
    }
    const ids = new Set(open.map(({ id }) => id))
    return (await read())
      .filter(({ id }) => ids.has(id))
      .flatMap((entry) => {
        const problem = problems.get(entry.id)
        return statusOf(entry).map((it) => ({ ...it, ...(problem !== undefined && { problem }) }))
      })
  }

  return { draw, book, look, close }
}

function schemeOf(sign: () => Promise<Record<string, unknown>>): SchemeNetworkClient {
  return {
    scheme: CHANNEL,
    createPaymentPayload: async (x402Version) => ({ x402Version, payload: await sign() }),
  }
}

/** Returns whether a seller asks for payments by this very channel. */
function isFor({ config }: Channel, { scheme, payTo, asset, extra }: Requirement): boolean {
  const isSame = (a: string, b: unknown) =>
    typeof b === 'string' && a.toLowerCase() === b.toLowerCase()
  return (
    scheme === CHANNEL &&
    isSame(config.receiver, payTo) &&
    isSame(config.token, asset) &&
    isSame(config.receiverAuthorizer, extra?.receiverAuthorizer) &&
    config.withdrawDelay === extra?.withdrawDelay
  )
}

/**
 * Reads how much the seller says to have charged before a call. More than earlier vouchers allow is never believed: the
 * ledger knows every voucher that has left.
 */
function correctionIn(
  reply: Reply | undefined,
  channel: Channel | undefined,
  most: bigint,
): string | undefined {
  const accepts = reply?.response.ok === false ? (reply.required?.accepts ?? []) : []
  const states = accepts.map(({ extra }) => memberOf(extra, 'channelState'))
  const own = states.find((it) => memberOf(it, 'channelId') === channel?.channelId)
  const total = memberOf(own, 'chargedCumulativeAmount')
  if (channel === undefined || !isAmount(total)) return undefined
  return BigInt(total) <= most && BigInt(total) !== channel.charged ? total : undefined
}

function checksummed(address: unknown): Hex {
  return getAddress(String(address).toLowerCase())
}

/** Returns a channel as its buyer sees it, in a list; nothing for a call that opened none. */
export function statusOf({
  at,
  host,
  payTo,
  state,
  channel,
  amount,
}: LedgerEntry): ChannelStatus[] {
  if (channel === undefined) return []
  const { channelId, charged, calls, balance } = channel
  const left = balance - charged
  return [
    {
      channelId,
      host,
      payTo,
      openedAt: at,
      state,
      deposit: BigInt(amount),
      charged,
      calls,
      left,
    },
  ]
}
