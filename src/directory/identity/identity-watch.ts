import type { Address } from 'viem'
import { DAY_MS, toSeconds } from '../../async/time.js'
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
}

/**
 * Keeps the checks of all linked agents current: after a write, when an event of the registry names the agent, and daily.
 * Lost control shows as a failed, dated check. A chain that cannot be read changes nothing.
 */
export class IdentityWatch {
  readonly #options: IdentityWatchOptions
  readonly #plans = createCheckPlans()
  readonly #running = new Map<string, Promise<void>>()
  readonly #waiting = new Map<string, Promise<void>>()
  #isStopped = false
  /** Whether the registry is on the chain; `undefined` before the first successful read. */
  #isServed: boolean | undefined
  #refreshedAt = Number.NEGATIVE_INFINITY
  #pauseMs = TICK_MS

  constructor(options: IdentityWatchOptions) {
    this.#options = options
  }

  /** Returns how long to pause before the next look, in milliseconds: longer while the chain does not answer. */
  pauseMs(): number {
    return this.#pauseMs
  }

  /** Reads the events of the registry and runs the checks that are due. Rejects only if the store fails. */
  async look(): Promise<void> {
    const { registry, now, log } = this.#options
    this.#pauseMs = TICK_MS
    try {
      await this.#refresh()
      if (this.#isServed === true) this.#plans.hasten(await registry.readChanges(), now())
    } catch (err) {
      this.#pauseMs = SILENT_TICK_MS
      if (!this.#isStopped) log.warn({ err }, 'identity registry could not be read')
    }
    if (this.#isServed !== undefined) await this.#checkDue()
  }

  /**
   * Checks a merchant's agent and keeps the result. Call it after every accepted write: a listing with a new payTo must
   * not keep the check of the old one. Never rejects; does nothing where no agent is linked. One check of a merchant runs
   * at a time, and a call during a check gets one more after it.
   */
  checkNow(merchantId: string): Promise<void> {
    const next = this.#waiting.get(merchantId)
    if (next !== undefined) return next
    const run = (this.#running.get(merchantId) ?? Promise.resolve()).then(async () => {
      this.#waiting.delete(merchantId)
      this.#running.set(merchantId, run)
      await this.#check(merchantId)
      if (this.#running.get(merchantId) === run) this.#running.delete(merchantId)
    })
    this.#waiting.set(merchantId, run)
    return run
  }

  /** Ends the work: results of running checks are no longer kept. */
  stop(): void {
    this.#isStopped = true
  }

  /** Reads the registry itself and the list of merchants, once an hour. */
  async #refresh(): Promise<void> {
    const { store, registry, now, log } = this.#options
    if (now() - this.#refreshedAt < REFRESH_MS) return
    const found = await registry.refresh()
    for (const merchant of await store.merchantsWithAgent()) {
      this.#plans.add(merchant, registry.address, now())
    }
    if (this.#isServed !== found.isServed) {
      log.info({ registry: registry.address, ...found }, 'identity registry read')
      if (this.#isServed !== undefined) this.#plans.hastenAll(now())
    }
    this.#isServed = found.isServed
    this.#refreshedAt = now()
  }

  async #checkDue(): Promise<void> {
    const due = this.#plans.due(this.#options.now(), MAX_CHECKS_A_TICK)
    const work = async () => {
      for (let id = due.shift(); id !== undefined && !this.#isStopped; id = due.shift()) {
        await this.checkNow(id)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, work))
  }

  async #check(merchantId: string): Promise<void> {
    const { store, now, log } = this.#options
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS && !this.#isStopped; attempt++) {
        const merchant = await store.findMerchant(merchantId)
        if (merchant === undefined || merchant.deletedAt !== null) {
          this.#plans.remove(merchantId)
          return
        }
        this.#plans.put(merchant, now() + RETRY_MS)
        if (await this.#tryCheck(merchant)) return
      }
    } catch (err) {
      if (!this.#isStopped) log.warn({ err, merchant: merchantId }, 'agent could not be checked')
    }
  }

  /** Checks once; `false` when the merchant changed meanwhile. */
  async #tryCheck(merchant: Merchant): Promise<boolean> {
    const { store, readIdentity, now } = this.#options
    const { id, agentId } = merchant
    if (agentId === null) {
      this.#plans.remove(id)
      if (merchant.identity !== null) await store.saveIdentity(id, null, toSeconds(now()))
      return true
    }
    const endpoints = await store.endpointsOf(id)
    const identity = await readIdentity({ ...merchant, agentId }, endpoints)
    if (this.#isStopped) return true
    if (!isSameListing(merchant, await store.findMerchant(id))) return false
    if (identity !== null || merchant.identity !== null) {
      await store.saveIdentity(id, identity, toSeconds(now()))
    }
    this.#logControl(merchant, identity?.checks.control.passed === true)
    this.#plans.putNextDay(merchant, now())
    // A write may have committed together with ours, before it.
    return isSameListing(merchant, await store.findMerchant(id))
  }

  #logControl({ id, agentId, identity }: Merchant, isControlled: boolean): void {
    const wasControlled = identity?.checks.control.passed === true
    if (isControlled === wasControlled) return
    const change = isControlled ? 'agent confirmed' : 'agent dropped'
    this.#options.log.info({ merchant: id, agentId }, change)
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

/** Rechecks are at most a day apart and spread over the last part of it. */
const JITTER_MS = 4 * 3_600_000
/** The first read of events reaches back this far, with a margin. Older checks are due at the start. */
const COVERED_BY_EVENTS_MS = 5 * 3_600_000

type CheckPlan = { agentId: string | null; owner: string; dueAt: number }

/** Creates the times of the next checks, in Unix milliseconds. */
function createCheckPlans() {
  const plans = new Map<string, CheckPlan>()

  const put = ({ id, agentId, owner }: Merchant, dueAt: number) => {
    plans.set(id, { agentId, owner: (owner ?? '').toLowerCase(), dueAt })
  }
  const nextDay = (from: number) => from + DAY_MS - Math.floor(Math.random() * JITTER_MS)

  const hastenThose = (now: number, isMeant: (plan: CheckPlan) => boolean) => {
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
