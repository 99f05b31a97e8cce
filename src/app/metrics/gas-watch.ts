import { formatNative } from '@arcus/protocol/x402/amounts'
import { DAY_MS } from '../../async/time.js'
import type { EventStore } from '../../directory/store/events.js'
import { LEAST_GAS, LOW_RUNWAY_DAYS } from '../doctor/chain-checks.js'
import type { ReadyNetwork } from '../doctor/readiness.js'
import { knownRunway } from './gas-money.js'
import type { WatchedNetwork } from './settling.js'

interface GasWatchOptions {
  networks: readonly (Pick<WatchedNetwork, 'network' | 'readBalances' | 'readRunway'> &
    Pick<ReadyNetwork, 'feePerGas'> & { relayer: Pick<WatchedNetwork['relayer'], 'addresses'> })[]
  events: Pick<EventStore, 'keep'>
  /** Unix milliseconds. */
  now: () => number
}

/**
 * Creates the task that reports to the operator's webhook when the gas money of a network runs low: once a day, and when
 * another wallet is dry.
 */
export function createGasWatch(options: GasWatchOptions): () => Promise<void> {
  const { networks, events, now } = options
  // A new webhook receives nothing that happened before it.
  let isFirst = true

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

  return async () => {
    if (isFirst) isFirst = false
    else await Promise.all(networks.map(look))
  }
}
