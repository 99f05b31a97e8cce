import { randomInt } from 'node:crypto'
import { isIP } from 'node:net'
import type { DiscoveryItem } from '@arcus/protocol/answers/discovery'
import type { CheckReason } from '@arcus/protocol/answers/paid-checks'
import type { CallExample } from '@arcus/protocol/x402/calls'
import type { CheckStatement } from '@arcus/protocol/x402/check-statement'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import { reasons } from '@arcus/protocol/x402/reasons'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import { createPolling } from '../../async/polling.js'
import type { FindAuthorizationUse } from '../../chain/authorization-uses.js'
import type { Block } from '../../chain/blocks.js'
import { blockOf } from '../../http/rate-limit.js'
import { toItem } from '../discovery/item.js'
import type { SharedPorts } from '../ports.js'
import type { BuyerFetch } from '../probe/buyer-fetch.js'
import type { HostPace } from '../probe/call-limits.js'
import { createPublicResolver, type Resolve } from '../probe/target-rules.js'
import type { CatalogEntry, ListingStore } from '../store/listings.js'
import { payToProofOf } from '../store/ownership.js'
import type {
  CheckKind,
  CheckOutcome,
  CheckStore,
  CheckTarget,
  PaidCheck,
} from '../store/paid-checks.js'
import { judge, statementOf } from './verdicts.js'

/** Signs verdicts. */
export interface CheckSigner {
  address: Address
  sign(statement: CheckStatement): Promise<Hex>
}

interface ChecksOptions
  extends Pick<
    SharedPorts,
    'network' | 'isPayToBlocked' | 'findPayment' | 'isKeeper' | 'isDiskLow' | 'now'
  > {
  store: CheckStore
  listings: Pick<ListingStore, 'entriesById' | 'saveCheck'>
  buyer: Buyer
  /** `undefined` where verdicts are not signed. */
  signer: CheckSigner | undefined
  openFetch: () => BuyerFetch
  pace: HostPace
  /** The token of dollars that is paid with, in lower case. */
  asset: Address
  /** Atomic units of it. */
  dailyLimit: bigint
  maxAmount: bigint
  findUse: FindAuthorizationUse
  readHead: () => Promise<Block>
  /** Returns whether a wallet holds so much and is not blocked. */
  canPay: (wallet: Address, amount: bigint) => Promise<boolean>
  /** For tests; a minute otherwise. */
  gapSeconds?: number
  log: {
    warn(details: object, message: string): void
    info(details: object, message: string): void
  }
}

const DAY_SECONDS = 86_400
const TICK_MS = 2_000
/** From the start of one check to that of the next. */
const GAP_SECONDS = 60
/** Endpoints that are looked at to find one that may be called now. */
const LOOKED_AT = 20
/** More than one a minute can be open: a buyer signs for an hour at most. */
const OPEN_AT_ONCE = 100
/** A search that found nothing rests a second for each of these milliseconds that it took. */
const REST_MS = 50
/** The time for the 402, and the longest time for the answer to the payment. */
const ASK_MS = 15_000
const MAX_ANSWER_MS = 30_000
/** Time from the start of the service to the first purchase. */
const START_SECONDS = 5
/** Time until the wallets are looked at again when none could pay. */
const POOR_SECONDS = 300

const nothing = { ms: null, bytes: null, sha256: null }

/** Why this service refuses a payment of its own wallets without any fault of the seller. */
const ownFaults = new Set<string | null>([
  reasons.payerNotAllowed.code,
  reasons.payerBlocklisted.code,
  reasons.assetPaused.code,
  reasons.insufficientBalance.code,
  reasons.gasBudgetExceeded.code,
  reasons.gasPriceTooHigh.code,
  reasons.notSentInTime.code,
  reasons.settlementPending.code,
  reasons.settlementUnknown.code,
  reasons.unexpectedVerifyError.code,
  reasons.unexpectedSettleError.code,
])

export type Checks = ReturnType<typeof createChecks>

/** Buys the documented examples of listed endpoints, one after another, and publishes what came of it. */
export function createChecks(options: ChecksOptions) {
  const { store, listings, buyer, pace, network, asset, now, log } = options
  const gapSeconds = options.gapSeconds ?? GAP_SECONDS
  const seconds = () => Math.floor(now() / 1000)
  const stopping = new AbortController()
  const resolve = createPublicResolver()
  /** Unix seconds. */
  let pausedUntil = 0
  /** The ids of the latest checks by the nonce of their payment: what is answered about it is heard a moment later. */
  const checkOf = new LRUCache<Hex, number>({ max: OPEN_AT_ONCE })
  /** Ids of open checks whose payment this service itself refused last, as far as it knows. */
  const refusedByUs = new Set<number>()

  /** Closes a check if it is known by now whether it paid. */
  async function close(check: PaidCheck, readHead: () => Promise<Block>): Promise<void> {
    const transaction = await findTransaction(check, readHead)
    if (transaction === undefined) return
    // A seller who was paid answers for it, whatever they had this service say of the payment.
    const isOurFault = refusedByUs.has(check.id) && transaction === null
    const isKnown = check.reason === 'delivered' || !isOurFault
    const { ms, bytes, sha256 } = isKnown ? check : nothing
    const reason: CheckReason = (isKnown && check.reason) || 'interrupted'
    const verdict = { reason, ms, bytes, sha256, transaction, closedAt: seconds() }
    const { signer } = options
    const checker = signer?.address.toLowerCase() as Address | undefined
    const signed =
      signer && (await signer.sign(statementOf({ ...check, ...verdict }, signer.address)))
    await listings.saveCheck(check.id, {
      ...verdict,
      checker: checker ?? null,
      signature: signed ?? null,
    })
    refusedByUs.delete(check.id)
    log.info({ endpointId: check.endpointId, reason, transaction }, 'an endpoint was bought from')
  }

  /** Returns the transaction of the payment, `null` if there is none, and `undefined` while it is not known. */
  async function findTransaction(
    check: PaidCheck,
    readHead: () => Promise<Block>,
  ): Promise<Hex | null | undefined> {
    const { payer, nonce, validBefore, afterBlock } = check
    if (payer === null || nonce === null || validBefore === null) return null
    const which = { asset: check.asset, method: 'eip3009' } as const
    const found = await options.findPayment(check.network, payer, nonce, which)
    if (found !== undefined && 'status' in found && found.status.state === 'confirmed') {
      return found.status.transaction
    }
    // By the clock of the chain: the one here may be wrong. Until then it may still be settled.
    const head = await readHead()
    if (head.timestamp < validBefore) return undefined
    // Another facilitator may have settled it.
    const value = BigInt(check.amount)
    const expected = { asset: check.asset, payer, payTo: check.payTo, value, nonce }
    const use = await options.findUse(expected, afterBlock ?? head.number, head.number)
    if (use.state === 'paid') return use.receipt.transactionHash
    if (use.state === 'cancelled' || use.state === 'otherTransfer') return null
    return use.state === 'notFound' && use.isFinal ? null : undefined
  }

  async function closeOpen(): Promise<void> {
    let head: Promise<Block> | undefined
    const readHead = () => (head ??= options.readHead())
    for (const check of await store.open(OPEN_AT_ONCE)) {
      if (stopping.signal.aborted) return
      await close(check, readHead).catch((err) =>
        log.warn({ err, checkId: check.id }, 'a paid check could not be closed; trying again'),
      )
    }
  }

  /** Returns a wallet that can pay, any of them alike; `undefined` if none can. */
  async function chooseWallet(amount: bigint): Promise<Address | undefined> {
    const wallets = [...buyer.wallets]
    while (wallets.length > 0) {
      const [wallet] = wallets.splice(randomInt(wallets.length), 1)
      if (wallet !== undefined && (await options.canPay(wallet, amount))) return wallet
    }
    return undefined
  }

  async function check(entry: CatalogEntry, amount: bigint, target: CheckTarget): Promise<void> {
    const wallet = await chooseWallet(amount)
    if (wallet === undefined) {
      log.warn({ amount: String(amount) }, 'no wallet of the checks can pay')
      pausedUntil = seconds() + POOR_SECONDS
      return
    }
    const { number: afterBlock } = await options.readHead()
    const clock = startClock(stopping.signal)
    const { fetch, close: hangUp } = options.openFetch()
    let id: number | undefined
    let signedAt = 0
    const limits = { dailyLimit: options.dailyLimit, gapSeconds }
    const reserve = async ({ nonce, amount, validBefore }: SignedTerms) => {
      const payment = { payer: wallet, nonce, amount, validBefore, afterBlock }
      id = await store.reserve(target, payment, seconds(), limits)
      if (id === undefined) throw new Error('the budget of the day is spent')
      // Our own endpoints are bought from to learn whether we settle.
      if (!entry.endpoint.isHosted) checkOf.set(nonce, id)
      clock.restart(Math.min(MAX_ANSWER_MS, (validBefore - seconds()) * 1_000))
      signedAt = performance.now()
    }
    try {
      const bought = await buyer.buy({
        item: toItem(entry),
        example: entry.endpoint.example,
        wallet,
        network,
        asset,
        maxAmount: amount,
        fetch,
        signal: clock.signal,
        beforeSigning: reserve,
      })
      if (id === undefined) await keepUnpaid(target, bought)
      else await store.noteOutcome(id, await toOutcome(bought, entry, { clock, signedAt }))
    } finally {
      clock.stop()
      hangUp()
    }
  }

  async function keepUnpaid(target: CheckTarget, bought: Bought): Promise<void> {
    const isFault = bought.kind === 'refused' && bought.isDearer
    await store.keepUnpaid(target, isFault ? 'price_changed' : undefined, seconds())
  }

  async function toOutcome(
    bought: Bought,
    { endpoint }: CatalogEntry,
    { clock, signedAt }: { clock: CallClock; signedAt: number },
  ): Promise<CheckOutcome> {
    if (bought.kind === 'redirected') return { ...nothing, reason: 'redirected' }
    if (bought.kind === 'answered') {
      const judged = await judge(bought.response, endpoint).catch(() => undefined)
      const ms = Math.round(performance.now() - signedAt)
      if (judged !== undefined) return { ...judged, ms }
    }
    // The end of the service is no fault of the seller.
    if (stopping.signal.aborted) return { ...nothing, reason: 'interrupted' }
    return { ...nothing, reason: clock.isLate() ? 'too_late' : 'no_answer' }
  }

  /** Returns the price of an endpoint that may be bought from; a sentence says why one may not. */
  function termsOf(entry: CatalogEntry): bigint | string {
    const { endpoint, merchant } = entry
    const { maxAmount } = options
    if (endpoint.status !== 'live') return 'Its last probe did not find it live.'
    if (endpoint.method === 'MCP') return 'Tools of MCP servers are not bought.'
    const amount = quotedAmount(entry, asset)
    if (amount === undefined || endpoint.asset !== asset) {
      return 'It is not priced in dollars by exact with EIP-3009.'
    }
    if (amount > maxAmount || endpoint.price > maxAmount) return 'It costs more than a check may.'
    if (payToProofOf(merchant) === null) return 'Its payout address is not proven.'
    return options.isPayToBlocked(merchant.payTo) ? 'Its payout address is blocked.' : amount
  }

  /** Buys from the first endpoint whose turn it is and whose host may be called. */
  async function checkNext(): Promise<void> {
    const at = seconds()
    if (at < pausedUntil || at - (await store.lastStart(at)) < gapSeconds) return
    const left = options.dailyLimit - (await store.signedAwaySince(at - (at % DAY_SECONDS)))
    const mostAtomic = left < options.maxAmount ? left : options.maxAmount
    if (mostAtomic <= 0n) return
    const begunAt = performance.now()
    const { dailyLimit } = options
    const found = await store.candidates({ asset, mostAtomic, dailyLimit, now: at }, LOOKED_AT)
    const kinds = new Map(found.map(({ id, kind }) => [id, kind]))
    const ids = [...kinds.keys()]
    // Looking through a large catalog must not become all that the database does.
    if (ids.length === 0) pausedUntil = at + Math.ceil((performance.now() - begunAt) / REST_MS)
    for (const entry of await listings.entriesById(ids)) {
      const { id, url } = entry.endpoint
      const amount = termsOf(entry)
      const kind = kinds.get(id) ?? 'lot'
      if (typeof amount === 'string') {
        await store.keepUnpaid(toTarget(entry, kind, ''), undefined, at)
        continue
      }
      // One check may not cost so much, or not today.
      if (amount > mostAtomic) continue
      const block = await blockAt(url, resolve)
      // A name costs little, and names of one server are mostly of one seller.
      if (kind === 'first' && block !== '' && !(await store.isFirstOfBlock(block, at))) continue
      if (!pace.enter(url)) continue
      try {
        return await check(entry, amount, toTarget(entry, kind, block))
      } finally {
        pace.leave(url)
      }
    }
  }

  const polling = createPolling({
    async poll() {
      if (!options.isKeeper() || options.isDiskLow()) return
      await closeOpen()
      await checkNext()
      await closeOpen()
    },
    everyMs: TICK_MS,
    onError: (err) => log.warn({ err }, 'a paid check failed; trying again'),
  })
  return {
    start(): void {
      // Our own endpoints must be ready before they are bought from.
      pausedUntil = seconds() + START_SECONDS
      polling.start()
    },
    /** Ends a purchase under way; the next start finds out whether it paid. */
    async stop(): Promise<void> {
      stopping.abort()
      await polling.stop()
    },
    /** Takes in an answer of the facilitator, which may be about the payment of a check. */
    noteAnswer({ payment, reason }: Pick<PaymentAnswer, 'payment' | 'reason'>): void {
      const id = payment.nonce && checkOf.get(payment.nonce)
      if (id === undefined) return
      if (ownFaults.has(reason)) refusedByUs.add(id)
      else refusedByUs.delete(id)
    },
    /** Says why an endpoint is not bought from; `undefined` if it is. */
    obstacleOf(entry: CatalogEntry): string | undefined {
      const terms = termsOf(entry)
      return typeof terms === 'string' ? terms : undefined
    },
    /** Counts what checks found, and the wallets that could pay for any check, for figures of the service. */
    async figures() {
      const canPay = buyer.wallets.map((wallet) => options.canPay(wallet, options.maxAmount))
      const wallets = await Promise.all(canPay).catch(() => undefined)
      const funded = wallets?.filter((can) => can).length
      const { maxAmount: mostAtomic, dailyLimit } = options
      return { ...(await store.figures({ asset, mostAtomic, dailyLimit })), funded }
    },
  }
}

function toTarget(
  { endpoint, merchant }: CatalogEntry,
  kind: CheckKind,
  block: string,
): CheckTarget {
  const { id: endpointId, url, method, toolName = '', asset } = endpoint
  const { id: merchantId, network, payTo } = merchant
  return { endpointId, merchantId, network, url, method, toolName, asset, payTo, kind, block }
}

/** Returns the block of addresses that a URL leads to; nothing where it is not of the public internet. */
async function blockAt(url: string, resolve: Resolve): Promise<string> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const [address] = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host]
  if (address === undefined || ipaddr.process(address).range() !== 'unicast') return ''
  return blockOf(address)
}

/** Returns the price by `exact` with EIP-3009 that the last 402 quoted for the payout address; `undefined` without one. */
function quotedAmount({ endpoint, merchant }: CatalogEntry, asset: Address): bigint | undefined {
  const amounts = endpoint.accepts.flatMap((quote) => {
    const { scheme, network, amount, extra } = quote as Record<string, string> & { extra?: object }
    const method = (extra as { assetTransferMethod?: string } | undefined)?.assetTransferMethod
    const isPlain = scheme === 'exact' && (method ?? 'eip3009') === 'eip3009'
    const isOurs =
      network === merchant.network &&
      String(quote.asset).toLowerCase() === asset &&
      String(quote.payTo).toLowerCase() === merchant.payTo
    return isPlain && isOurs && /^\d{1,20}$/.test(amount ?? '') ? [BigInt(amount as string)] : []
  })
  return amounts.length === 0 ? undefined : amounts.reduce((a, b) => (a < b ? a : b))
}

type CallClock = ReturnType<typeof startClock>

/** Bounds a purchase by the clock: first the question, then the answer to the payment. */
function startClock(parent: AbortSignal) {
  const abort = new AbortController()
  let isLate = false
  const expire = () => {
    isLate = true
    abort.abort()
  }
  let timer = setTimeout(expire, ASK_MS)
  return {
    signal: AbortSignal.any([abort.signal, parent]),
    isLate: () => isLate,
    restart(ms: number): void {
      clearTimeout(timer)
      timer = setTimeout(expire, ms)
    },
    stop: () => clearTimeout(timer),
  }
}

/** A payment that is about to be signed. */
interface SignedTerms {
  nonce: Hex
  /** Atomic units. */
  amount: bigint
  /** Unix seconds. */
  validBefore: number
}

export interface Purchase {
  item: DiscoveryItem
  example: CallExample
  /** One of the buyer's wallets. */
  wallet: Address
  /** CAIP-2. */
  network: string
  asset: Address
  /** The most that is paid, atomic units. */
  maxAmount: bigint
  fetch: typeof globalThis.fetch
  signal: AbortSignal
  /** Called once, right before the signature. Nothing is signed if it rejects. */
  beforeSigning(terms: SignedTerms): Promise<void>
}

/**
 * How a purchase ended: with the answer to the payment, its body unread; with a 402 that was not paid, `isDearer` if only its
 * terms were wrong; or without an answer that could be bought or judged.
 */
export type Bought =
  | { kind: 'answered'; response: Response }
  | { kind: 'refused'; isDearer: boolean }
  | { kind: 'redirected' }
  | { kind: 'failed' }

/** Buys like anybody with `@arcus/client`, from wallets of the operator. */
export interface Buyer {
  /** In lower case; at least one. */
  wallets: readonly Address[]
  /** Never rejects. */
  buy(purchase: Purchase): Promise<Bought>
}
