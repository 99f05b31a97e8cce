/** Both fee fields of an EIP-1559 transaction, 18-decimal units per gas. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** Arc takes a tip of 0; a little above it, so that a replacement can raise this field too. */
const TIP = 1_000_000n
/** Arc's fee may rise 2 % a block: three times the base fee outlasts 50 full blocks, and unused it costs nothing. */
export const HEADROOM = 300n
/** The headroom of a transaction whose whole gas limit may burn. A small one reserves less, and a quarter outlasts 11 full blocks. */
export const RISKY_HEADROOM = 125n
/** Nodes ask at least 10 % more in both fields of a replacement. */
const BUMP_PERCENT = 125n

/** Returns the price of one unit of gas in a block with this base fee, 18-decimal units. */
export function priceOf(baseFeePerGas: bigint): bigint {
  return baseFeePerGas + TIP
}

/** Returns fees for a new transaction, `headroom` percent of the base fee; `undefined` when that alone is above the cap. */
export function quoteFees(
  baseFeePerGas: bigint,
  capPerGas: bigint,
  headroom = HEADROOM,
): Fees | undefined {
  if (priceOf(baseFeePerGas) > capPerGas) return undefined
  const wanted = (baseFeePerGas * headroom) / 100n + TIP
  return { maxFeePerGas: wanted < capPerGas ? wanted : capPerGas, maxPriorityFeePerGas: TIP }
}

/** Returns fees of a replacement, both fields up; `undefined` when the cap leaves no room for one. */
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

/** Before the first receipt: a FiatToken behind a proxy takes about 113k alone. */
const FIRST_GUESS = 120_000n
/** A recipient that was never paid costs the slot of its balance, and the creation of its account. */
const NEW_RECIPIENT_GAS = 45_000n
/** The gas that a transaction of a multicall takes, whatever is in it. */
export const BATCH_OVERHEAD = 80_000n
const TRANSACTION_BASE = 21_000n
const MARGIN_PERCENT = 115n
/** A tenth of the block's gas is left to others, and to the estimate's error. */
const BLOCK_SHARE_PERCENT = 90n
/** The number of recipients that are remembered as existing accounts. */
const MAX_KNOWN = 10_000

/** A payment in a multicall; one that takes another gas than a plain one names it, in units of gas. */
interface LimitedCall {
  payTo: string
  expectedGas?: bigint
}

export type GasModel = ReturnType<typeof createGasModel>

/**
 * Makes the model of the gas that transactions of a network take, in units of gas, learnt from the receipts of payers without
 * code. What it learns is at most twice the first guess: payers choose what their payments take, and
 * a limit that is too low has a repair, while one that is too high closes wallets which could pay.
 */
export function createGasModel(plainTransferGas?: bigint) {
  // An authorization adds the slot of its nonce, the signature check and calldata to a plain transfer.
  const firstGuess = plainTransferGas === undefined ? FIRST_GUESS : plainTransferGas + 60_000n
  const most = 2n * firstGuess
  // The base of a transaction is not part of what a member takes.
  let shared = firstGuess - TRANSACTION_BASE
  let alone = firstGuess
  const known = new Set<string>()

  const newRecipients = (members: readonly { payTo: string }[]) =>
    BigInt(new Set(members.map(({ payTo }) => payTo).filter((payTo) => !known.has(payTo))).size)

  const withMargin = (gas: bigint) => (gas * MARGIN_PERCENT) / 100n
  const singleLimit = (simulated: bigint) => withMargin(simulated) + NEW_RECIPIENT_GAS

  /** Goes up at once and down slowly: a limit too low costs a resend. */
  function follow(learnt: bigint, seen: bigint): bigint {
    const next = seen > learnt ? seen : (learnt * 31n + seen) / 32n
    return next < most ? next : most
  }

  return {
    /** Returns the limit of a multicall with these members. */
    batchLimit(members: readonly LimitedCall[]): bigint {
      const sum = members.reduce((sum, { expectedGas = shared }) => sum + expectedGas, 0n)
      return withMargin(sum) + newRecipients(members) * NEW_RECIPIENT_GAS + BATCH_OVERHEAD
    },
    /** Returns the limit of a plain call whose simulation used this much. */
    singleLimit,
    /** Returns the most that a payment which is sent alone is expected to be given. */
    aloneLimit: () => singleLimit(alone),
    /** Returns what a payment adds to the limit of a transaction with others. */
    memberLimit: ({ payTo, expectedGas = shared }: LimitedCall) =>
      withMargin(expectedGas) + (known.has(payTo) ? 0n : NEW_RECIPIENT_GAS),
    /** Returns how many members a transaction may carry, each of which takes as much gas as a payment unless said. */
    maxMembers(blockGasLimit: bigint, expectedGas = shared): number {
      const room = (blockGasLimit * BLOCK_SHARE_PERCENT) / 100n - BATCH_OVERHEAD
      return Math.max(1, Number(room / singleLimit(expectedGas)))
    },
    /** Learns from a mined transaction that paid these recipients. */
    learn(gasUsed: bigint, payTos: readonly string[]): void {
      if (payTos.length === 0) return
      if (payTos.length === 1) alone = follow(alone, gasUsed)
      else shared = follow(shared, (gasUsed - TRANSACTION_BASE) / BigInt(payTos.length))
      for (const payTo of payTos) known.add(payTo)
      if (known.size > MAX_KNOWN) known.clear()
    },
    /** Returns what a payment takes now in a transaction with others, for prices and forecasts. */
    perPayment: () => shared,
  }
}
