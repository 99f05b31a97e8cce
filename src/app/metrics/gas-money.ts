import type { Address } from 'viem'
import { DAY_MS } from '../../async/time.js'
import { createChainClient } from '../../chain/client.js'
import type { Rpc } from '../../chain/rpc.js'
import { type BudgetStore, dayOf } from '../../facilitator/journal/budgets.js'
import { shareReads } from '../../http/cached-reply.js'

const CACHE_MS = 10_000
const TIMEOUT_MS = 1_500

/**
 * Reads the gas money (18-decimal units) of several wallets in one round trip, at most every ten seconds; `undefined`
 * for a wallet that could not be read. Never rejects.
 */
export function createBalances(
  rpc: Pick<Rpc, 'batch'>,
  addresses: readonly Address[],
  now: () => number,
): () => Promise<readonly (bigint | undefined)[]> {
  const client = createChainClient(rpc, { timeoutMs: TIMEOUT_MS })
  const balanceOf = (address: Address) => client.getBalance({ address }).catch(() => undefined)
  const read = () => Promise.all(addresses.map(balanceOf))
  return shareReads(CACHE_MS, now, read)
}

/** The first minutes of a day say little about the whole day. */
const LEAST_SHARE = 1 / 24

/** Returns the days that a sum of gas money (18-decimal units) lasts; `Infinity` while nothing is spent. */
export type ReadRunway = (balance: bigint) => Promise<number>

/**
 * Estimates by the gas of the last 24 hours: that of today, and of yesterday's the share of the day that is still to
 * come. If nothing was spent yesterday, today's pace since midnight (UTC) is taken for the whole day.
 */
export function createRunway(options: {
  network: string
  budgets: BudgetStore
  /** Unix milliseconds. */
  now: () => number
}): ReadRunway {
  const { network, budgets } = options
  return async (balance) => {
    const now = options.now()
    const [today, yesterday] = await Promise.all([
      budgets.spentOn(network, dayOf(now)),
      budgets.spentOn(network, dayOf(now - DAY_MS)),
    ])
    const share = (now % DAY_MS) / DAY_MS
    const spentADay =
      yesterday === 0n
        ? Number(today) / Math.max(share, LEAST_SHARE)
        : Number(today) + Number(yesterday) * (1 - share)
    return spentADay === 0 ? Number.POSITIVE_INFINITY : Number(balance) / spentADay
  }
}

/** Returns the runway of all wallets together; `undefined` unless every balance is known. */
export async function knownRunway(
  balances: readonly (bigint | undefined)[],
  wallets: number,
  readRunway: ReadRunway,
): Promise<number | undefined> {
  const known = balances.filter((balance) => balance !== undefined)
  if (known.length < wallets) return undefined
  const sum = known.reduce((total, balance) => total + balance, 0n)
  return readRunway(sum).catch(() => undefined)
}
