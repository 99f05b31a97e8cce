import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import { reasons } from '@arcus/protocol/x402/reasons'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import type { MayGoOn } from '../../async/background.js'
import { createHourlyCounts } from '../../async/limits.js'
import { DAY_MS } from '../../async/time.js'
import type { SharedPorts } from '../ports.js'
import type { ActivityState, ActivityStore, NewActivity } from '../store/activity.js'
import {
  type Attribution,
  type Attributor,
  canonicalResource,
  readResource,
} from './attribution.js'

interface ActivityRecorderOptions
  extends Pick<SharedPorts, 'isRelayer' | 'refundWallets' | 'findPayment' | 'isDiskLow' | 'now'> {
  store: Pick<ActivityStore, 'append' | 'forget'>
  attributor: Attributor
  /** The token of dollars, whose amounts are summed, in lower case; `undefined` where none is settled. */
  asset: Address | undefined
  retentionDays: number
}

/** Rows per call of the store, which splits them further if they take too long for one tick of the event loop. */
const SLICE = 500
/** Longer than any CAIP-2 name. */
const MAX_NETWORK_CHARS = 64
/** Rows that one commit of a sweep deletes, few enough for a tick of the event loop. */
const SWEEP_ROWS = 200

/** An answer of the facilitator as it is handed over: the query of the paid URL is digests (`digestQuery`). */
export interface HandedAnswer extends PaymentAnswer {
  query: readonly string[]
}

/** Creates the recorder: it keeps the answers of verify and settle in groups, with their merchant. */
export function createActivityRecorder(options: ActivityRecorderOptions) {
  const { store, attributor, now } = options
  const boundsOf = createRowBounds(now)
  const stateOf = createStateRule()
  const findSale = createSaleFinder(options)
  /** The merchants of the latest sales by the row of the journal, which has lost the query of the URL. */
  const sold = new LRUCache<string, Sold>({ max: MAX_REMEMBERED })
  let dropped = 0

  function toRow(
    answer: PaymentAnswer,
    resource: string | null,
    found: Attribution | undefined,
    keeping: Keeping,
  ): NewActivity {
    const { network, asset, payTo, amount, payer, nonce, toolName } = answer.payment
    const isOfEndpoint = keeping === 'row' || keeping === 'endpoint'
    return {
      at: answer.at,
      kind: answer.kind,
      network: network.slice(0, MAX_NETWORK_CHARS),
      merchantId: keeping === 'everybody' ? null : (found?.merchantId ?? null),
      endpointId: isOfEndpoint ? (found?.endpointId ?? null) : null,
      resource,
      toolName: toolName ?? null,
      payTo,
      payer,
      nonce: nonce ?? null,
      asset,
      amount,
      state: stateOf(answer),
      reason: answer.reason,
      transaction: answer.transaction,
      settlementId: answer.settlementId,
      latencyMs: answer.latencyMs,
      gasCost: answer.gasCost,
      isSelf: isOwn({ payer, payTo }, found),
      isSumOnly: keeping !== 'row',
      isOtherMoney: asset !== options.asset,
    }
  }

  const isOwn = (
    { payer, payTo }: Pick<RefundedSale, 'payer' | 'payTo'>,
    found: Attribution | undefined,
  ) => payer === payTo || payer === found?.owner || options.isRelayer(payer)

  /** Makes the row of a refund, which counts where its sale does. */
  async function toRefund(answer: PaymentAnswer, sale: RefundedSale): Promise<NewActivity> {
    const { resource, toolName } = sale
    const { found } = sold.get(sale.settlementId) ?? {
      found: await attributor.find(sale.payTo, resource, { toolName }),
    }
    const row = toRow(answer, null, found, 'row')
    const { amount, isOtherMoney } = row
    const isWhole = amount >= sale.amount
    const counted = isOtherMoney ? 0n : isWhole ? sale.amount : amount
    const refund = { amount: counted, payments: isWhole ? 1 : 0 } as const
    return { ...row, state: 'refunded', isSelf: isOwn(sale, found), refund }
  }

  async function keep(answers: readonly HandedAnswer[]): Promise<void> {
    const rows: NewActivity[] = []
    for (const answer of answers) {
      const sale = await findSale(answer)
      if (sale !== undefined) {
        rows.push(await toRefund(answer, sale))
        continue
      }
      const { payment, query } = answer
      const { payTo, resourceUrl, toolName } = payment
      const url = readResource(resourceUrl)
      const { state, settlementId } = answer
      // Verify is open to anybody, so only what moved money is compared with all prices.
      const paid = state === 'settled' ? payment : undefined
      const found = await attributor.find(payTo, url, { toolName, query, paid })
      if (state === 'settled' && settlementId !== null) sold.set(settlementId, { found })
      rows.push(toRow(answer, canonicalResource(url), found, boundsOf(answer, found)))
    }
    await store.append(rows)
  }

  return {
    /** Keeps answers, in the order in which they were given. Rejects if the store fails: then some may be kept. */
    async keep(answers: readonly HandedAnswer[]): Promise<void> {
      if (options.isDiskLow()) {
        dropped += answers.length
        return
      }
      await attributor.refresh()
      for (let start = 0; start < answers.length; start += SLICE) {
        await keep(answers.slice(start, start + SLICE))
        await nextTurn()
      }
    },
    /** Deletes rows that are too old, in small commits, so that nothing waits for it. */
    async forgetOld(mayGoOn: MayGoOn): Promise<void> {
      const before = now() - options.retentionDays * DAY_MS
      while (mayGoOn() && (await store.forget(before, SWEEP_ROWS)) > 0) await nextTurn()
    },
    /** Counts the answers that were dropped because the disk is nearly full. */
    dropped: () => dropped,
  }
}

/** The listing that a sale counts for; `undefined` in it where there is none. */
interface Sold {
  found: Attribution | undefined
}

/** A confirmed payment that another one gives back. */
interface RefundedSale {
  settlementId: string
  payer: Address
  payTo: Address
  /** Atomic units. */
  amount: bigint
  /** Without its query. */
  resource: URL | undefined
  toolName: string | undefined
}

/**
 * Creates the search for the payment that a settled one gives back. Our plugin names it, and only money of the address
 * that was paid, or of the wallet that pays its refunds, gives it back. Other money that goes back is a payment.
 */
function createSaleFinder({
  findPayment,
  refundWallets,
}: Pick<ActivityRecorderOptions, 'findPayment' | 'refundWallets'>) {
  return async ({ state, payment }: PaymentAnswer): Promise<RefundedSale | undefined> => {
    const { network, asset, payer: seller, payTo: payer, refunded } = payment
    if (state !== 'settled' || refunded === undefined) return undefined
    const { nonce, method } = refunded
    const paid = await findPayment(network, payer, nonce, { asset, method })
    if (paid === undefined || 'queries' in paid || paid.status.state !== 'confirmed')
      return undefined
    const { settlementId, amount } = paid.status
    const payTo = paid.status.payTo.toLowerCase() as Address
    if (payTo !== (refundWallets.get(seller) ?? seller)) return undefined
    const resource = readResource(paid.resourceUrl)
    return { settlementId, payer, payTo, amount: BigInt(amount), resource, toolName: paid.toolName }
  }
}

/** About 3 MB for each of two memories. A flood that fills them makes fewer failures count, never more. */
const MAX_REMEMBERED = 10_000
/** A proof longer than that of a plain account is remembered by its hash. */
const MAX_PROOF_CHARS = 200

/** A used payment, or one with the key or the id of another, is a refusal and never a failure. */
const neverFailures = new Set<string | null>([
  reasons.nonceAlreadyUsed.code,
  reasons.idempotencyKeyConflict.code,
  reasons.paymentIdentifierRequired.code,
  reasons.paymentIdentifierConflict.code,
])

/** Failures that no payer can cause. A payer could cause any number of the others at no cost. */
const notPayers = new Set<string | null>([
  reasons.unexpectedSettleError.code,
  reasons.gasPriceTooHigh.code,
  reasons.assetPaused.code,
  reasons.payToBlocklisted.code,
])

/**
 * Creates the rule that decides the state of an answer. A settle counts as failed only if its payment was found valid
 * here before, with signature and funds: at verify, or at a settle that went on to the chain. It fails once, and a payer
 * can cause one failure a day, so that nobody distorts a merchant's figures. Every other error is a refusal. Answers must
 * come in their order.
 */
export function createStateRule(): (answer: PaymentAnswer) => ActivityState {
  const sound = new LRUCache<string, true>({ max: MAX_REMEMBERED })
  const failed = new LRUCache<string, true>({ max: MAX_REMEMBERED })

  return (answer) => {
    const { kind, state, reason, settlementId, at } = answer
    // Without a key it is an answer that nothing identifies; it was never found valid.
    const key = keyOf(answer)
    if (key !== undefined && (state === 'valid' || state === 'pending')) sound.set(key, true)
    else if (key !== undefined && state === 'settled') sound.delete(key)
    if (kind !== 'settle' || state !== 'failed') return state
    if (key === undefined || neverFailures.has(reason) || failed.has(key)) return 'refused'
    if (settlementId === null && !sound.has(key)) return 'refused'
    failed.set(key, true)
    if (notPayers.has(reason)) return 'failed'
    const day = `${answer.payment.payer}/${Math.floor(at / DAY_MS)}`
    if (failed.has(day)) return 'refused'
    failed.set(day, true)
    return 'failed'
  }
}

/** Returns a key of the payment as it was asked for; `undefined` where nothing identifies it. */
function keyOf({ settlementId, payment }: PaymentAnswer): string | undefined {
  const { payTo, payer, amount, proof = settlementId } = payment
  if (proof === null) return undefined
  const short =
    proof.length > MAX_PROOF_CHARS ? createHash('sha256').update(proof).digest('hex') : proof
  return [payTo, payer, amount, short].join('/')
}

/** The part of an answer that is kept. */
type Keeping =
  /** The answer itself, and the sums of its endpoint. */
  | 'row'
  /** The sums of its endpoint. */
  | 'endpoint'
  /** The sums of its merchant as a whole. */
  | 'merchant'
  /** The sums over everybody. */
  | 'everybody'

/**
 * Answers within an hour that get a row of their own: about one merchant, and in all. Charges of nothing are among the
 * unsound, because they cost nobody anything either.
 */
const MAX_SOUND = { each: 2_000, inAll: 20_000 }
const MAX_UNSOUND = { each: 100, inAll: 2_000 }
/** Merchants whose refusals get sums of their own within an hour: a stranger may name any merchant. */
const MAX_SUMMED_MERCHANTS = 2_000

/**
 * Creates the bounds on kept answers: verify is open and costs nothing. Settled payments always get a row. Other answers
 * get so many rows an hour, and those about payments that were never valid have bounds of their own, so that they
 * displace nothing. Further answers are only summed, refusals no longer by endpoint, because a flood could name them all.
 * `now` is in Unix milliseconds.
 */
function createRowBounds(now: () => number) {
  const sound = createCount(now)
  const unsound = createCount(now)

  return (answer: PaymentAnswer, found: Attribution | undefined): Keeping => {
    // The row identifies a success that is answered again.
    if (answer.state === 'settled') return 'row'
    if (found === undefined) return 'everybody'
    const { merchantId } = found
    if (isSound(answer)) return sound.take(merchantId, MAX_SOUND) ? 'row' : 'endpoint'
    if (unsound.take(merchantId, MAX_UNSOUND)) return 'row'
    return unsound.knows(merchantId) ? 'merchant' : 'everybody'
  }
}

/** Returns whether the payment was found valid, now or before: then it has a row in the journal. */
function isSound({ state, settlementId }: PaymentAnswer): boolean {
  if (state === 'free') return false
  return state === 'valid' || state === 'pending' || settlementId !== null
}

function createCount(now: () => number) {
  const byMerchant = createHourlyCounts(now)
  const inAll = createHourlyCounts(now)
  return {
    take(merchantId: string, most: { each: number; inAll: number }): boolean {
      const count = byMerchant.of(merchantId)
      if (byMerchant.size() < MAX_SUMMED_MERCHANTS && count === 0) byMerchant.add(merchantId, 0)
      if (count >= most.each || inAll.of('all') >= most.inAll) return false
      byMerchant.add(merchantId, 1)
      inAll.add('all', 1)
      return true
    },
    knows: (merchantId: string) => byMerchant.has(merchantId),
  }
}
