import type { Address } from 'viem'
import { createPolling } from '../../async/polling.js'
import type { AgentChanges } from '../../chain/identity-registry.js'
import type { ListingStore, Merchant } from '../store/listings.js'
import type { ReadIdentity } from './identity-checks.js'
import type { IdentityRegistry } from './registry.js'

/** Interval of reading the registry's events and running due checks: a lost badge disappears about this late. */
const TICK_MS = 15_000
/** The same while the registry cannot be read. */
const SILENT_TICK_MS = 60_000
/** Interval of reading the registry itself and the list of merchants. */
const REFRESH_MS = 3_600_000
/** Time until a check that failed for the chain is tried again. */
const RETRY_MS = 300_000
const MAX_CHECKS_A_TICK = 12
const CONCURRENT_CHECKS = 4
/** Tries of a check whose merchant changes meanwhile; after them the next recheck does it. */
const MAX_ATTEMPTS = 3

interface IdentityWatchOptions {
  store: Pick<ListingStore, 'findMerchant' | 'endpointsOf' | 'merchantsWithAgent' | 'saveIdentity'>
  registry: Pick<IdentityRegistry, 'address' | 'refresh' | 'readChanges'>
  readIdentity: ReadIdentity
  /** Unix milliseconds. */
  now: () => number
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
  /** For tests. */
  tickMs?: number
}

export type IdentityWatch = ReturnType<typeof createIdentityWatch>

/**
 * Keeps the checks of all linked agents current: after a write, when an event of the registry names the agent, and daily.
 * Lost control shows as a failed, dated check. A chain that cannot be read changes nothing.
 */
export function createIdentityWatch(options: IdentityWatchOptions) {
  const { store, registry, readIdentity, now, log } = options
  const schedule = createSchedule()
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()
  let isStopped = false
  let isServed: boolean | undefined
  let refreshedAt = Number.NEGATIVE_INFINITY
  let waitMs = TICK_MS
  const polling = createPolling({
    poll: tick,
    everyMs: () => options.tickMs ?? waitMs,
    onError: (err) => log.warn({ err }, 'due agents could not be checked'),
  })

  /** Checks once; `false` when the merchant changed meanwhile. */
  async function tryCheck(merchant: Merchant): Promise<boolean> {
    const { id, agentId } = merchant
    const seconds = () => Math.floor(now() / 1000)
    if (agentId === null) {
      schedule.remove(id)
      if (merchant.identity !== null) await store.saveIdentity(id, null, seconds())
      return true
    }
    const endpoints = await store.endpointsOf(id)
    const identity = await readIdentity({ ...merchant, agentId }, endpoints)
    if (isStopped) return true
    if (!isSameListing(merchant, await store.findMerchant(id))) return false
    if (identity !== null || merchant.identity !== null) {
      await store.saveIdentity(id, identity, seconds())
    }
    logControl(merchant, identity?.checks.control.passed === true)
    schedule.putNextDay(merchant, now())
    // A write may have committed together with ours, before it.
    return isSameListing(merchant, await store.findMerchant(id))
  }

  function logControl({ id, agentId, identity }: Merchant, isControlled: boolean): void {
    const wasControlled = identity?.checks.control.passed === true
    if (isControlled === wasControlled) return
    log.info({ merchant: id, agentId }, isControlled ? 'agent confirmed' : 'agent dropped')
  }

  async function check(merchantId: string): Promise<void> {
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS && !isStopped; attempt++) {
        const merchant = await store.findMerchant(merchantId)
        if (merchant === undefined || merchant.deletedAt !== null) {
          schedule.remove(merchantId)
          return
        }
        schedule.put(merchant, now() + RETRY_MS)
        if (await tryCheck(merchant)) return
      }
    } catch (err) {
      if (!isStopped) log.warn({ err, merchant: merchantId }, 'agent could not be checked')
    }
  }

  /**
   * Checks a merchant's agent and keeps the result. Call it after every accepted write: a listing with a new payTo must
   * not keep the check of the old one. Never rejects; does nothing where no agent is linked. One check of a merchant runs
   * at a time, and a call during a check gets one more after it.
   */
  function checkNow(merchantId: string): Promise<void> {
    const next = waiting.get(merchantId)
    if (next !== undefined) return next
    const run = (running.get(merchantId) ?? Promise.resolve()).then(async () => {
      waiting.delete(merchantId)
      running.set(merchantId, run)
      await check(merchantId)
      if (running.get(merchantId) === run) running.delete(merchantId)
    })
    waiting.set(merchantId, run)
    return run
  }

  async function refresh(): Promise<void> {
    if (now() - refreshedAt < REFRESH_MS) return
    const found = await registry.refresh()
    for (const merchant of await store.merchantsWithAgent()) {
      schedule.add(merchant, registry.address, now())
    }
    if (isServed !== found.isServed) {
      log.info({ registry: registry.address, ...found }, 'identity registry read')
      if (isServed !== undefined) schedule.hastenAll(now())
    }
    isServed = found.isServed
    refreshedAt = now()
  }

  async function checkDue(): Promise<void> {
    const due = schedule.due(now(), MAX_CHECKS_A_TICK)
    const work = async () => {
      for (let id = due.shift(); id !== undefined && !isStopped; id = due.shift()) {
        await checkNow(id)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, work))
  }

  async function tick(): Promise<void> {
    waitMs = TICK_MS
    try {
      await refresh()
      if (isServed === true) schedule.hasten(await registry.readChanges(), now())
    } catch (err) {
      waitMs = SILENT_TICK_MS
      if (!isStopped) log.warn({ err }, 'identity registry could not be read')
    }
    // Before the first successful read it is unknown whether there is a registry.
    if (isServed !== undefined) await checkDue()
  }

  return {
    checkNow,
    /** Reads the registry and begins to watch. Never rejects: it tries again until the chain answers. */
    async start(): Promise<void> {
      await refresh().catch((err) => log.warn({ err }, 'identity registry could not be read'))
      polling.start()
    },
    /** Stops. Results of running checks are no longer kept. */
    stop(): void {
      isStopped = true
      void polling.stop()
    },
  }
}

function isSameListing(one: Merchant, other: Merchant | undefined): boolean {
  return (
    other?.deletedAt === one.deletedAt &&
    other.agentId === one.agentId &&
    other.owner === one.owner &&
    other.payTo === one.payTo &&
    other.revision === one.revision
  )
}

const DAY_MS = 86_400_000
/** Rechecks are at most a day apart and spread over the last part of it. */
const JITTER_MS = 4 * 3_600_000
/** The first read of events reaches back this far, with a margin. Older checks are due at the start. */
const COVERED_BY_EVENTS_MS = 5 * 3_600_000

type Plan = { agentId: string | null; owner: string; dueAt: number }

/** Creates the times of the next checks, in Unix milliseconds. */
function createSchedule() {
  const plans = new Map<string, Plan>()

  const put = ({ id, agentId, owner }: Merchant, dueAt: number) => {
    plans.set(id, { agentId, owner: (owner ?? '').toLowerCase(), dueAt })
  }
  const nextDay = (from: number) => from + DAY_MS - Math.floor(Math.random() * JITTER_MS)

  const hastenThose = (now: number, isMeant: (plan: Plan) => boolean) => {
    for (const plan of plans.values()) if (isMeant(plan)) plan.dueAt = Math.min(plan.dueAt, now)
  }

  return {
    /** Sets the time of a merchant's next check. */
    put,
    /** Plans the next daily recheck. */
    putNextDay: (merchant: Merchant, now: number) => put(merchant, nextDay(now)),
    /** Plans a merchant that has no plan yet, from the date of its last checks. */
    add(merchant: Merchant, registry: Address, now: number): void {
      if (plans.has(merchant.id)) return
      const { identity } = merchant
      const isOfNow = identity?.agentId === merchant.agentId && identity.registry === registry
      const checkedAt = isOfNow ? identity.checks.control.checkedAt * 1000 : 0
      put(merchant, now - checkedAt > COVERED_BY_EVENTS_MS ? now : nextDay(checkedAt))
    },
    remove: (merchantId: string) => void plans.delete(merchantId),
    /** Makes the merchants due that the events are about. */
    hasten({ agentIds, operators }: AgentChanges, now: number): void {
      if (agentIds.size + operators.size === 0) return
      hastenThose(
        now,
        ({ agentId, owner }) =>
          (agentId !== null && agentIds.has(agentId)) || operators.has(owner as Address),
      )
    },
    hastenAll: (now: number) => hastenThose(now, () => true),
    /** Returns the due merchants, most overdue first. */
    due: (now: number, limit: number): string[] =>
      [...plans]
        .filter(([, { dueAt }]) => dueAt <= now)
        .sort(([, one], [, other]) => one.dueAt - other.dueAt)
        .slice(0, limit)
        .map(([id]) => id),
  }
}
