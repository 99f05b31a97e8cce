import type { Address } from 'viem'
import type { ActivityStore, NewActivity } from '../../store/activity.js'
import type { PaymentAnswer } from '../../x402/payment.js'
import { createStateJudge } from './answer-states.js'
import {
  type Attribution,
  type Attributor,
  canonicalResource,
  readResource,
} from './attribution.js'
import { createRowBounds, type Keeping } from './row-bounds.js'

export interface ActivityRecorderOptions {
  store: Pick<ActivityStore, 'append' | 'forget' | 'foldHours'>
  attributor: Attributor
  /** Lower-case. */
  isRelayer: (address: Address) => boolean
  /** Wallets that give back what was paid at another address than their own, with that address; lower-case. */
  refundWallets?: ReadonlyMap<Address, Address>
  retentionDays: number
  /** While the disk is nearly full nothing is kept. */
  isDiskLow: () => boolean
  /** Whether other processes keep activity in the same store: a refund may be answered here and its sale there. */
  isShared?: boolean
  /** Told the merchants that have something new. */
  onRecorded?: (merchantIds: ReadonlySet<string>) => void
  /** Unix milliseconds. */
  now: () => number
  log: { warn(details: object, message: string): void }
}

export interface ActivityRecorder {
  /** Notes an answer; as cheap as a push, and never throws. */
  record(answer: PaymentAnswer): void
  /** Answers that were given up: they came faster than they could be kept, the store failed them, or the disk is low. */
  dropped(): number
  /** Keeps what waits; the last call. */
  stop(): Promise<void>
}

/** Answers wait this long for company: what they show is for people, and a commit of few costs each of them more. */
const FLUSH_MS = 1_000
/** Rows handed to the store at once; it parts them further where they take a loop turn too long. */
const SLICE = 100
/** Past this the oldest are given up, and counted: the payments themselves are in the journal. */
const MAX_WAITING = 20_000
/** Longer than any CAIP-2 name. */
const MAX_NETWORK_CHARS = 64
/** Longer than another process takes to keep what it answered before. */
const SALES_FIRST_MS = 3_000
const SWEEP_MS = 60_000
/** Rows of one commit of a sweep: what a loop turn can spare. */
const SWEEP_ROWS = 200
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** The shortest range reads 24 hours; older ones become days. */
const HOURS_KEPT_MS = 3 * DAY_MS

/** Keeps the answers of verify and settle off their way, in groups, with whom they were about. */
export function createActivityRecorder(options: ActivityRecorderOptions): ActivityRecorder {
  const { store, attributor, now, log, refundWallets = new Map() } = options
  const boundsOf = createRowBounds(now)
  const judgeState = createStateJudge()
  let waiting: PaymentAnswer[] = []
  let dropped = 0
  let toldDropped = 0
  let sweptHour = 0
  let timer: NodeJS.Timeout | undefined
  let flushing: Promise<void> | undefined
  let sweeping: Promise<void> | undefined
  let isStopping = false
  const sweeper = setInterval(startSweep, SWEEP_MS)
  sweeper.unref()

  function toRow(
    answer: PaymentAnswer,
    resource: string | null,
    found: Attribution | undefined,
    keeping: Keeping,
  ): NewActivity {
    const { network, payTo, amount, payer } = answer.payment
    const isOfEndpoint = keeping === 'row' || keeping === 'endpoint'
    return {
      at: answer.at,
      kind: answer.kind,
      network: network.slice(0, MAX_NETWORK_CHARS),
      merchantId: keeping === 'everybody' ? null : (found?.merchantId ?? null),
      endpointId: isOfEndpoint ? (found?.endpointId ?? null) : null,
      resource,
      payTo,
      payer,
      amount,
      state: judgeState(answer),
      reason: answer.reason,
      transaction: answer.transaction,
      settlementId: answer.settlementId,
      latencyMs: answer.latencyMs,
      gasCost: answer.gasCost,
      isSelf: payer === payTo || payer === found?.owner || options.isRelayer(payer),
      isSumOnly: keeping !== 'row',
      // Who pays for a listed endpoint buys; else it may be money that goes back to a buyer.
      givesBackOf: found?.endpointId == null ? (refundWallets.get(payer) ?? payer) : null,
    }
  }

  /** All that waits, but for what may give back a payment that another process has yet to keep. */
  function takeDue(): PaymentAnswer[] {
    const before = now() - SALES_FIRST_MS
    const isHeld = ({ state, at, payment }: PaymentAnswer) =>
      state === 'settled' && payment.resourceUrl === undefined && at > before
    const all = waiting
    waiting = options.isShared && !isStopping ? all.filter(isHeld) : []
    return waiting.length === 0 ? all : all.filter((answer) => !isHeld(answer))
  }

  async function flush(): Promise<void> {
    await attributor.refresh()
    if (options.isDiskLow()) {
      dropped += waiting.length
      waiting = []
    }
    const due = takeDue()
    for (let start = 0; start < due.length; start += SLICE) {
      const slice = due.slice(start, start + SLICE)
      await keep(slice).catch((err) => {
        dropped += slice.length
        log.warn({ err, answers: slice.length }, 'activity could not be kept')
      })
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (dropped > toldDropped) log.warn({ dropped }, 'activity was given up')
    toldDropped = dropped
  }

  async function keep(answers: readonly PaymentAnswer[]): Promise<void> {
    const rows: NewActivity[] = []
    for (const answer of answers) {
      const { payTo, resourceUrl } = answer.payment
      const url = readResource(resourceUrl)
      const found = await attributor.find(payTo, url)
      rows.push(toRow(answer, canonicalResource(url), found, boundsOf(answer, found)))
    }
    await store.append(rows)
    const merchantIds = new Set(rows.flatMap(({ merchantId }) => merchantId ?? []))
    if (merchantIds.size > 0) options.onRecorded?.(merchantIds)
  }

  function startFlush(): Promise<void> {
    timer = undefined
    flushing ??= flush()
      .catch((err) => log.warn({ err }, 'activity could not be attributed; trying again'))
      .finally(() => {
        flushing = undefined
        if (waiting.length > 0) timer ??= setTimeout(startFlush, FLUSH_MS)
      })
    return flushing
  }

  /** In small commits, so that nobody waits for it. */
  async function sweep(): Promise<void> {
    const before = now() - options.retentionDays * DAY_MS
    while (!isStopping && (await store.forget(before, SWEEP_ROWS)) > 0) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    const hour = Math.floor(now() / HOUR_MS)
    if (isStopping || hour === sweptHour) return
    sweptHour = hour
    await store.foldHours(Math.floor((now() - HOURS_KEPT_MS) / 1000))
  }

  function startSweep(): void {
    sweeping ??= sweep()
      .catch((err) => log.warn({ err }, 'old activity could not be dropped'))
      .finally(() => {
        sweeping = undefined
      })
  }

  return {
    record(answer) {
      if (options.isDiskLow()) {
        dropped++
        return
      }
      waiting.push(answer)
      if (waiting.length > MAX_WAITING) {
        waiting.shift()
        dropped++
      }
      timer ??= setTimeout(startFlush, FLUSH_MS)
    },
    dropped: () => dropped,
    async stop() {
      isStopping = true
      clearInterval(sweeper)
      clearTimeout(timer)
      await flushing
      await startFlush()
      clearTimeout(timer)
      await sweeping
    },
  }
}
