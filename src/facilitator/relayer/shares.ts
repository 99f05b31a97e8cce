import type { JobProfile } from './jobs.js'
import type { Lane } from './lane/lane.js'
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
  /** By lane: the transactions that carry jobs of a payer, and those with one that travels alone; of all under ''. */
  const uses = new Map<Lane, { places: Counts; singles: Counts }>()
  for (const lane of lanes) {
    const use = { places: new Map<string, number>(), singles: new Map<string, number>() }
    uses.set(lane, use)
    for (const carried of lane.carried()) {
      for (const payer of new Set(carried.map((entry) => entry.payer))) add(use.places, payer, 1)
      for (const entry of carried) add(gasUnderWay, entry.payer, gasOf(entry))
      const [only] = carried
      if (only === undefined || carried.length > 1 || !isAlone(only)) continue
      for (const name of ['', only.payer]) add(use.singles, name, 1)
    }
  }
  // Other processes send with the other wallets, and each measures only its own.
  const held = lanes.filter((lane) => lane.isHeld()).length / lanes.length
  const mostGas = Number(blockGas) * PAYERS_SHARE * held

  return (lane) => {
    const use = uses.get(lane)
    const count = (counts: Counts | undefined, name: string) => counts?.get(name) ?? 0
    return (entry, taken) => {
      const { payer } = entry
      if (count(use?.places, payer) >= MAX_IN_FLIGHT * PAYERS_SHARE) return false
      if (isAlone(entry)) {
        if (count(use?.singles, '') >= MAX_SINGLES) return false
        if (count(use?.singles, payer) >= MAX_SINGLES * PAYERS_SHARE) return false
      }
      const others = taken.filter((it) => it.payer === payer)
      const used = others.reduce((sum, it) => sum + gasOf(it), gasUnderWay.get(payer) ?? 0)
      return used === 0 || used + gasOf(entry) <= mostGas
    }
  }
}

type Counts = Map<string, number>

function add(counts: Counts, key: string, more: number): void {
  counts.set(key, (counts.get(key) ?? 0) + more)
}
