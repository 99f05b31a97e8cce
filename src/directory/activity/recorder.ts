import type { Address } from 'viem'
import type { ActivityStore, NewActivity } from '../../store/activity.js'
import type { PaymentAnswer } from '../../x402/payment-answer.js'
import {
  type Attribution,
  type Attributor,
  canonicalResource,
  readResource,
} from './attribution.js'

export interface ActivityRecorderOptions {
  store: Pick<ActivityStore, 'append' | 'forget' | 'foldHours'>
  attributor: Attributor
  /** Lower-case. */
  isRelayer: (address: Address) => boolean
  retentionDays: number
  /** Told the merchants that have something new. */
  onRecorded?: (merchantIds: ReadonlySet<string>) => void
  /** Unix milliseconds. */
  now: () => number
  log: { warn(details: object, message: string): void }
}

export interface ActivityRecorder {
  /** Notes an answer; as cheap as a push, and never throws. */
  record(answer: PaymentAnswer): void
  /** Answers that were given up: they came faster than they could be kept, or the store failed them. */
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
const SWEEP_MS = 60_000
/** Rows of one commit of a sweep: what a loop turn can spare. */
const SWEEP_ROWS = 200
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** The shortest range reads 24 hours; older ones become days. */
const HOURS_KEPT_MS = 3 * DAY_MS

/** Keeps the answers of verify and settle off their way, in groups, with whom they were about. */
export function createActivityRecorder(options: ActivityRecorderOptions): ActivityRecorder {
  const { store, attributor, now, log } = options
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

  function toRow(answer: PaymentAnswer, resource: string | null, found?: Attribution): NewActivity {
    const { network, payTo, amount, payer } = answer.payment
    return {
      at: answer.at,
      kind: answer.kind,
      network,
      merchantId: found?.merchantId ?? null,
      endpointId: found?.endpointId ?? null,
      resource,
      payTo,
      payer,
      amount,
      state: answer.state,
      reason: answer.reason,
      transaction: answer.transaction,
      settlementId: answer.settlementId,
      latencyMs: answer.latencyMs,
      gasCost: answer.gasCost,
      isSelf: payer === payTo || payer === found?.owner || options.isRelayer(payer),
    }
  }

  async function flush(): Promise<void> {
    await attributor.refresh()
    while (waiting.length > 0) {
      const slice = waiting.slice(0, SLICE)
      waiting = waiting.slice(SLICE)
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
      rows.push(toRow(answer, canonicalResource(url), await attributor.find(payTo, url)))
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
