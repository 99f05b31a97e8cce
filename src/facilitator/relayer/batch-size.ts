import type { GasModel } from './gas.js'
import type { TrackedJob } from './jobs.js'
import type { RelayerContext } from './relayer-context.js'

/** Payments in one transaction: some two million gas of a block's thirty. Larger batches save hardly any more. */
export const MAX_BATCH = 50
/** The gas of a block until the first is seen. */
const USUAL_BLOCK_GAS = 30_000_000n

interface BatchSizeOptions
  extends Pick<RelayerContext, 'feed' | 'hasMulticall3' | 'guard' | 'maxBatch'> {
  gas: GasModel
}

/** Returns the gas of a block, as far as is known. */
export function blockGasOf({ feed }: Pick<RelayerContext, 'feed'>): bigint {
  return feed.latest()?.gasLimit ?? USUAL_BLOCK_GAS
}

/** Returns how many jobs like this one a transaction may carry: plain payments unless said. */
export function maxMembers(
  options: BatchSizeOptions,
  { through, expectedGas }: Partial<TrackedJob> = {},
): number {
  const canShare = options.hasMulticall3 || options.guard() !== undefined
  if (through === undefined && !canShare) return 1
  return Math.min(options.maxBatch, options.gas.maxMembers(blockGasOf(options), expectedGas))
}
