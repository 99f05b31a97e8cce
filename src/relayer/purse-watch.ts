import type { Address } from 'viem'
import type { BlockFeed } from '../chain/block-feed.js'
import { asQuantity } from '../chain/parse-quantity.js'
import type { Rpc } from '../chain/rpc.js'
import { formatNative } from '../x402/amounts.js'
import { quoteFees } from './fees.js'
import type { GasModel } from './gas-model.js'
import type { Lane } from './lane.js'

export interface PurseWatchOptions {
  network: string
  lanes: readonly Lane[]
  rpc: Rpc
  feed: BlockFeed
  gas: GasModel
  maxFeePerGas: bigint
  /** Unix milliseconds. */
  now: () => number
  log: { warn(o: object, m: string): void }
}

/** Knows which wallets cannot pay for one settlement, whichever process works for them. */
export interface PurseWatch {
  /** Reads what the wallets hold, every few seconds at most, and closes idle lanes that cannot pay. Never rejects. */
  look(): Promise<void>
  /** False as well while nothing could be read. */
  isDry(address: Address): boolean
}

/** One call for all wallets; a wallet that is emptied in between is found when it is to sign. */
const LOOK_MS = 3_000

export function createPurseWatch(options: PurseWatchOptions): PurseWatch {
  const { network, lanes, rpc, feed, gas, now, log } = options
  let dry = new Set<Address>()
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined

  async function read(): Promise<void> {
    const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, options.maxFeePerGas)
    // Then nothing is sent, whatever the wallets hold.
    if (fees === undefined) return
    const needed = gas.singleLimit(gas.perPayment()) * fees.maxFeePerGas
    const params = lanes.map(({ address }) => [address, 'latest'])
    const answers = await rpc.batch(params.map((it) => ({ method: 'eth_getBalance', params: it })))
    const found = new Set<Address>()
    for (const [i, { address }] of lanes.entries()) {
      const answer = answers[i]
      const held = answer?.ok ? asQuantity(answer.value) : undefined
      if (held === undefined ? !dry.has(address) : held >= needed) continue
      found.add(address)
      if (held !== undefined && !dry.has(address)) warn(address, held, needed)
    }
    dry = found
  }

  function warn(relayer: Address, held: bigint, needed: bigint): void {
    const [has, wants] = [formatNative(held), formatNative(needed)]
    log.warn(
      { relayer },
      `relayer wallet ${relayer} holds ${has} USDC on ${network}, too little for one settlement (${wants}): send USDC to it on this network`,
    )
  }

  return {
    async look() {
      if (now() - lookedAt >= LOOK_MS) {
        lookedAt = now()
        // What could not be read is read again soon; sending finds it out as well.
        looking = read().catch(() => {})
      }
      await looking
      for (const lane of lanes) if (dry.has(lane.address)) lane.closeIdle()
    },
    isDry: (address) => dry.has(address),
  }
}
