import type { ListingStore, Merchant } from '../../store/listings.js'
import type { ReadIdentity } from './read-identity.js'
import type { IdentityRegistry } from './registry.js'
import { createSchedule } from './schedule.js'

/** How often the registry's events are read and what is due is looked at: about as long a badge outlives its loss. */
const TICK_MS = 15_000
/** The same while the registry cannot be read. */
const SILENT_TICK_MS = 60_000
/** How often the registry itself and the list of merchants are looked at again. */
const REFRESH_MS = 3_600_000
/** A chain that could not be read is asked again after this. */
const RETRY_MS = 300_000
const MAX_CHECKS_A_TICK = 12
const CONCURRENT_CHECKS = 4
/** A merchant written to while its agent was read is read again; past this the next recheck does it. */
const MAX_ATTEMPTS = 3

export interface IdentityWatchOptions {
  store: Pick<ListingStore, 'findMerchant' | 'endpointsOf' | 'merchantsWithAgent' | 'saveIdentity'>
  registry: Pick<IdentityRegistry, 'address' | 'look' | 'readChanges'>
  readIdentity: ReadIdentity
  /** Unix milliseconds. */
  now: () => number
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
  /** From 0 to below 1; default `Math.random`. */
  random?: () => number
  /** For tests; a quarter of a minute otherwise, a minute while the chain is silent. */
  tickMs?: number
}

export interface IdentityWatch {
  /**
   * Checks a merchant's agent and keeps what was found. Call it after every accepted write: a listing that is paid
   * elsewhere now must not keep the check of where it was paid. Never rejects; does nothing where no agent is linked.
   */
  checkNow(merchantId: string): Promise<void>
  /** Looks at the registry and begins to watch. Never rejects: a chain that cannot be read is asked again. */
  start(): Promise<void>
  /** Keeps nothing from then on, also of checks under way. */
  stop(): void
}

/**
 * Keeps the checks of all linked agents true: after a write, when the registry's events name the agent, and daily.
 * Control that is lost shows as a failed, dated check; a chain that cannot be read changes nothing.
 */
export function createIdentityWatch(options: IdentityWatchOptions): IdentityWatch {
  const { store, registry, readIdentity, now, log, random = Math.random } = options
  const schedule = createSchedule(random)
  const running = new Map<string, Promise<void>>()
  const waiting = new Map<string, Promise<void>>()
  let isStopped = false
  let isServed: boolean | undefined
  let refreshedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  /** `false` when the merchant changed meanwhile. */
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
    // A write that waited for the disk together with ours has come before it.
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

  /** One check of a merchant at a time; a call meanwhile gets one more after it. */
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
    const found = await registry.look()
    for (const merchant of await store.merchantsWithAgent()) {
      schedule.add(merchant, registry.address, now())
    }
    if (isServed !== found.isServed) {
      log.info({ registry: registry.address, ...found }, 'identity registry looked at')
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
    let waitMs = TICK_MS
    try {
      await refresh()
      if (isServed === true) schedule.hasten(await registry.readChanges(), now())
    } catch (err) {
      waitMs = SILENT_TICK_MS
      if (!isStopped) log.warn({ err }, 'identity registry could not be read')
    }
    // Before the first look nobody knows whether there is a registry to ask.
    if (isServed !== undefined) await checkDue()
    if (!isStopped) timer = setTimeout(() => void tick(), options.tickMs ?? waitMs)
  }

  return {
    checkNow,
    async start() {
      try {
        await refresh()
      } catch (err) {
        log.warn({ err }, 'identity registry could not be read')
      }
      timer = setTimeout(() => void tick(), 0)
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
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
