import type { Address } from 'viem'
import type { AgentChanges } from '../../chain/identity-registry.js'
import type { Merchant } from '../../store/listings.js'

const DAY_MS = 86_400_000
/** Rechecks are at most a day apart and spread over the last part of it. */
const JITTER_MS = 4 * 3_600_000
/** What the first look at the registry's events reaches back to, with a margin; older checks are due at start. */
const COVERED_BY_EVENTS_MS = 5 * 3_600_000

/** When which merchant's agent is looked at next. Times are Unix milliseconds. */
export interface Schedule {
  /** Puts a merchant at a time, whatever was planned. */
  put(merchant: Merchant, dueAt: number): void
  /** Plans the next daily recheck. */
  putNextDay(merchant: Merchant, now: number): void
  /** Plans a merchant that is not planned yet by what its last checks say. */
  add(merchant: Merchant, registry: Address, now: number): void
  remove(merchantId: string): void
  /** Makes due whom the events are about. */
  hasten(changes: AgentChanges, now: number): void
  hastenAll(now: number): void
  /** Most overdue first. */
  due(now: number, limit: number): string[]
}

export function createSchedule(random: () => number): Schedule {
  const plans = new Map<string, { agentId: string | null; owner: string; dueAt: number }>()

  const put = ({ id, agentId, owner }: Merchant, dueAt: number) => {
    plans.set(id, { agentId, owner: (owner ?? '').toLowerCase(), dueAt })
  }
  const nextDay = (from: number) => from + DAY_MS - Math.floor(random() * JITTER_MS)

  return {
    put,
    putNextDay: (merchant, now) => put(merchant, nextDay(now)),
    add(merchant, registry, now) {
      if (plans.has(merchant.id)) return
      const { identity } = merchant
      const isOfNow = identity?.agentId === merchant.agentId && identity.registry === registry
      const checkedAt = isOfNow ? identity.checks.control.checkedAt * 1000 : 0
      put(merchant, now - checkedAt > COVERED_BY_EVENTS_MS ? now : nextDay(checkedAt))
    },
    remove: (merchantId) => void plans.delete(merchantId),
    hasten({ agentIds, operators }, now) {
      if (agentIds.size + operators.size === 0) return
      for (const plan of plans.values()) {
        const isMeant =
          (plan.agentId !== null && agentIds.has(plan.agentId)) ||
          operators.has(plan.owner as Address)
        if (isMeant) plan.dueAt = Math.min(plan.dueAt, now)
      }
    },
    hastenAll(now) {
      for (const plan of plans.values()) plan.dueAt = Math.min(plan.dueAt, now)
    },
    due: (now, limit) =>
      [...plans]
        .filter(([, { dueAt }]) => dueAt <= now)
        .sort(([, one], [, other]) => one.dueAt - other.dueAt)
        .slice(0, limit)
        .map(([id]) => id),
  }
}
