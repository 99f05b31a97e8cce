/** Both fields of an EIP-1559 transaction, 18-decimal units a gas. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** Arc takes a tip of 0; a little above it, so that a replacement can raise this field too. */
const TIP = 1_000_000n
/** Arc's fee may rise 2 % a block: three times the base outlasts 50 full blocks, and unused it costs nothing. */
export const HEADROOM = 300n
/** Where a budget must bear all that a transaction may burn, less is reserved: a quarter outlasts 11 full blocks. */
export const RISKY_HEADROOM = 125n
/** Nodes ask at least 10 % more in both fields of a replacement. */
const BUMP_PERCENT = 125n

/** What a gas costs in a block with this base fee, 18-decimal units. */
export function priceOf(baseFeePerGas: bigint): bigint {
  return baseFeePerGas + TIP
}

/** Fees for a new transaction, `headroom` percent of the base fee; `undefined` when that alone is above the cap. */
export function quoteFees(
  baseFeePerGas: bigint,
  capPerGas: bigint,
  headroom = HEADROOM,
): Fees | undefined {
  if (priceOf(baseFeePerGas) > capPerGas) return undefined
  const wanted = (baseFeePerGas * headroom) / 100n + TIP
  return { maxFeePerGas: wanted < capPerGas ? wanted : capPerGas, maxPriorityFeePerGas: TIP }
}

/** Fees of a replacement, both fields up; `undefined` when the cap leaves no room for one. */
export function bumpFees(
  previous: Fees,
  baseFeePerGas: bigint,
  capPerGas: bigint,
  headroom = HEADROOM,
): Fees | undefined {
  const raised = (previous.maxFeePerGas * BUMP_PERCENT) / 100n + 1n
  const fresh = quoteFees(baseFeePerGas, capPerGas, headroom)?.maxFeePerGas ?? 0n
  const maxFeePerGas = raised > fresh ? raised : fresh
  if (maxFeePerGas > capPerGas) return undefined
  const maxPriorityFeePerGas = (previous.maxPriorityFeePerGas * BUMP_PERCENT) / 100n + 1n
  return { maxFeePerGas, maxPriorityFeePerGas }
}
