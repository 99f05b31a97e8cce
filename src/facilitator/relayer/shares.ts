import type { JobProfile } from './jobs.js'
import type { Lane } from './lane.js'
import { isAlone } from './queue.js'

/**
 * Transactions one wallet may have under way. A block of 30 M gas holds about 14 full batches; with fewer in
 * flight than a block can take, the wallet and not the chain would set the pace.
 */
export const MAX_IN_FLIGHT = 16
/** A job that travels alone takes a place that fifty could share, so these have at most half of a wallet's places. */
const MAX_SINGLES = MAX_IN_FLIGHT / 2
/** One payer has at most this share of either, and of the gas of a block: those of others always fit in the next one. */
const PAYERS_SHARE = 7 / 8

interface BlockMeasure {
  blockGas: bigint
  /** The gas of a payment that names none of its own. */
  gasPerPayment: bigint
}

/** Returns whether a wallet has room for a job, in a transaction with those that are taken for it already. */
export type HasRoom = (entry: JobProfile, taken: readonly JobProfile[]) => boolean

/** The jobs that a wallet has under way, in numbers. */
interface LaneUse {
  singles: number
  /** By payer: the transactions that carry jobs of theirs, and those that carry one alone. */
  places: Map<string, number>
  singlesOf: Map<string, number>
}

/**
 * Measures what is under way, and returns for each lane the test whether it has room for a job: nobody waits for the crowd
 * of another payer, and jobs that travel alone do not hold up those that share. It holds for one pass over the queue.
 */
export function measureShares(
  lanes: readonly Lane[],
  { blockGas, gasPerPayment }: BlockMeasure,
): (lane: Lane) => HasRoom {
  const gasOf = ({ gas, expectedGas = gasPerPayment }: JobProfile) =>
    Number(gas?.most ?? expectedGas)
  const gasUnderWay = new Map<string, number>()
  const uses = new Map<Lane, LaneUse>()
  for (const lane of lanes) {
    const use: LaneUse = { singles: 0, places: new Map(), singlesOf: new Map() }
    uses.set(lane, use)
    for (const carried of lane.carried()) {
      for (const payer of new Set(carried.map((entry) => entry.payer))) add(use.places, payer, 1)
      for (const entry of carried) add(gasUnderWay, entry.payer, gasOf(entry))
      const [only] = carried
      if (only === undefined || carried.length > 1 || !isAlone(only)) continue
      use.singles++
      add(use.singlesOf, only.payer, 1)
    }
  }
  // Other processes send with the other wallets, and each measures only its own.
  const held = lanes.filter((lane) => lane.isHeld()).length / lanes.length
  const mostGas = Number(blockGas) * PAYERS_SHARE * held

  return (lane) => {
    const use = uses.get(lane) as LaneUse
    return (entry, taken) => {
      const { payer } = entry
      if ((use.places.get(payer) ?? 0) >= MAX_IN_FLIGHT * PAYERS_SHARE) return false
      if (isAlone(entry)) {
        const own = use.singlesOf.get(payer) ?? 0
        if (use.singles >= MAX_SINGLES || own >= MAX_SINGLES * PAYERS_SHARE) return false
      }
      const others = taken.filter((it) => it.payer === payer)
      const used = others.reduce((sum, it) => sum + gasOf(it), gasUnderWay.get(payer) ?? 0)
      return used === 0 || used + gasOf(entry) <= mostGas
    }
  }
}

function add(counts: Map<string, number>, key: string, more: number): void {
  counts.set(key, (counts.get(key) ?? 0) + more)
}
