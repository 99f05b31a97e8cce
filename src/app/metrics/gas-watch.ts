import { formatNative } from '@arcus/protocol/x402/amounts'
import type { EventStore } from '../../directory/store/events.js'
import { LEAST_GAS, LOW_RUNWAY_DAYS } from '../doctor/chain-checks.js'
import type { ReadyNetwork } from '../doctor/readiness.js'
import { knownRunway } from './gas-money.js'
import type { WatchedNetwork } from './settling.js'

interface GasWatchOptions {
  networks: readonly (WatchedNetwork & Pick<ReadyNetwork, 'feePerGas'>)[]
  events: Pick<EventStore, 'keep'>
  /** Whether this process does the work that one process does for all. */
  isKeeper(): boolean
  /** Unix milliseconds. */
  now: () => number
  /** For tests; a minute otherwise. */
  lookMs?: number
  log: { warn(details: object, message: string): void }
}

const LOOK_MS = 60_000
const DAY_MS = 86_400_000

/**
 * Reports to the operator's webhook when the gas money of a network runs low: once a day, and when another wallet is dry.
 * Returns how to stop.
 */
export function startGasWatch(options: GasWatchOptions) {
  const { networks, events, isKeeper, now, log } = options

  async function look(watched: GasWatchOptions['networks'][number]): Promise<void> {
    const { network, relayer } = watched
    const balances = await watched.readBalances()
    const wallets = relayer.addresses.flatMap((address, i) => {
      const balance = balances[i]
      return balance === undefined ? [] : [{ address, balance }]
    })
    // A node that does not answer says nothing about the money.
    if (wallets.length === 0) return
    const runway = await knownRunway(balances, relayer.addresses.length, watched.readRunway)
    const days = runway ?? Number.POSITIVE_INFINITY
    const needed = (watched.feePerGas() ?? 0n) * LEAST_GAS
    const dry = wallets.filter(({ balance }) => balance <= needed)
    if (dry.length === 0 && days >= LOW_RUNWAY_DAYS) return
    const data = {
      network,
      runwayDays: Number.isFinite(days) ? Number(days.toFixed(1)) : null,
      wallets: wallets.map(({ address, balance }) => ({
        address,
        usd: formatNative(balance),
        isDry: balance <= needed,
      })),
    }
    const today = Math.floor(now() / DAY_MS)
    const key = `gas.low/${network}/${today}/${dry.map(({ address }) => address).join()}`
    const event = { merchantId: '', type: 'gas.low', key, at: now() } as const
    await events.keep([{ ...event, data: JSON.stringify(data) }], [])
  }

  function tick(): void {
    if (!isKeeper()) return
    for (const one of networks) {
      look(one).catch((err) => log.warn({ err }, 'the gas money could not be checked'))
    }
  }
  // Not at once: a new webhook receives nothing that happened before it.
  const timer = setInterval(tick, options.lookMs ?? LOOK_MS)
  return () => clearInterval(timer)
}
