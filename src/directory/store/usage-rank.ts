import type { Usage } from '@arcus/protocol/answers/fields'

/** The figures of an endpoint or a merchant by which lists are sorted and search results are ranked. All are of 30 days. */
export interface UsageRank {
  /** Calls without those of the busiest payer and without the share of payers who paid nobody else: both cost nothing. */
  othersCalls: number
  /** Those who also paid another seller. */
  payers: number
  /** Unix seconds; 0 is never. */
  lastPaid: number
  /** 0 to `TOP_LEVEL`. */
  level: number
  /** All calls, whoever made them. A seller can make any number of them, so nothing is ranked by it unasked. */
  allCalls: number
  /** Share of the payments that settled once sent, 0 to 1; -1 where none was sent. */
  success: number
}

export const TOP_LEVEL = 7

export const NO_USAGE_RANK: UsageRank = {
  othersCalls: 0,
  payers: 0,
  lastPaid: 0,
  level: 0,
  allCalls: 0,
  success: -1,
}

/**
 * Weighs the figures. The level is the binary logarithm of the geometric mean of two counts: the payers who also paid
 * another seller, and the payers that there would be if each made as many calls as the busiest. It needs twice as many
 * payers for each step, and calls of one wallet lower it.
 */
export function usageRankOf({
  calls,
  payers,
  onlyHere,
  topPayerShare,
  successRate,
  lastPaid,
}: Usage): UsageRank {
  const share = topPayerShare ?? 1
  const all = payers['30d'] + onlyHere['30d']
  const even = payers['30d'] === 0 ? 0 : Math.sqrt(payers['30d'] / share)
  return {
    othersCalls: all === 0 ? 0 : Math.round((calls['30d'] * (1 - share) * payers['30d']) / all),
    payers: payers['30d'],
    lastPaid,
    allCalls: calls['30d'],
    success: successRate ?? -1,
    // An exact power of two must not fall short by the last digit of a fraction.
    level: even < 1 ? 0 : Math.min(TOP_LEVEL, Math.floor(Math.log2(even) + 1e-6)),
  }
}

/** The largest number to sort by, and the most members: one number holds both, because those are sorted fast. */
const MAX_KEY = 2 ** 32 - 1
const PLACES = 2 ** 21

/** A member of a list, with a number that is higher in a newer one. */
interface Weighed {
  usageRank: UsageRank
  since: number
}

/** Numbers that put the first one first when they rise. */
export const usageRankKeys = {
  calls: ({ usageRank }: Weighed) => MAX_KEY - usageRank.othersCalls,
  payers: ({ usageRank }: Weighed) => MAX_KEY - usageRank.payers,
  lastPaid: ({ usageRank }: Weighed) => MAX_KEY - usageRank.lastPaid,
  new: ({ since }: Weighed) => MAX_KEY - since,
}

/** Returns the members as their numbers rise; members with the same number stay as they are. */
export function inOrderOf<Member>(
  members: readonly Member[],
  keyOf: (member: Member) => number,
): Member[] {
  const packed = Float64Array.from(
    members,
    (member, place) => Math.min(MAX_KEY, Math.max(0, keyOf(member))) * PLACES + place,
  ).sort()
  return Array.from(packed, (key) => members[key % PLACES] as Member)
}

/** A price as lists are sorted by it. */
export interface Priced {
  /** Atomic units of `asset`; from $4,294 on, prices count as equal. */
  price: number
  asset: string
  /** ISO 4217; `null` if not known. */
  currency: string | null
}

/** Puts the cheapest first within each money: nobody has the rates to compare them. */
export function byPrice<Member extends Priced>(members: readonly Member[]): Member[] {
  const groups = new Map<string, Member[]>()
  for (const member of members) {
    const money = moneyOf(member)
    const group = groups.get(money)
    if (group === undefined) groups.set(money, [member])
    else group.push(member)
  }
  return [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, group]) => inOrderOf(group, ({ price }) => price))
}

/** Names the money of a price: dollars come first, then each currency, then each token of an unknown one. */
function moneyOf({ currency, asset }: Priced): string {
  if (currency === null) return `2${asset}`
  return currency === 'USD' ? '0' : `1${currency}`
}
