/** Gas limits of one network, learnt from its receipts. Units: gas. */
export interface GasModel {
  /** The limit of a Multicall3 transaction with these members. */
  batchLimit(members: readonly { payTo: string }[]): bigint
  /** The limit of a plain call whose simulation used this much. */
  singleLimit(simulated: bigint): bigint
  /** The most a payment that travels alone is expected to be given. */
  aloneLimit(): bigint
  /** How many members a transaction may carry. */
  maxMembers(blockGasLimit: bigint): number
  /** Learns from a mined transaction with this many members. */
  learn(gasUsed: bigint, payTos: readonly string[]): void
  /** What one payment takes at present, for prices and forecasts. */
  perPayment(): bigint
}

/** Before the first receipt: a FiatToken behind a proxy takes about 113k alone. */
const FIRST_GUESS = 120_000n
/** An account that does not exist yet costs its creation. */
const NEW_ACCOUNT_GAS = 25_000n
const BATCH_OVERHEAD = 80_000n
const TRANSACTION_BASE = 21_000n
const MARGIN_PERCENT = 115n
/** A tenth of the block's gas is left to others, and to the estimate's error. */
const BLOCK_SHARE_PERCENT = 90n
/** How many recipients are remembered as existing accounts. */
const MAX_KNOWN = 10_000

export function createGasModel(plainTransferGas?: bigint): GasModel {
  // An authorization adds its nonce's slot, the signature check and calldata to a plain transfer.
  let perMember = plainTransferGas === undefined ? FIRST_GUESS : plainTransferGas + 60_000n
  const known = new Set<string>()

  const newAccounts = (members: readonly { payTo: string }[]) =>
    BigInt(new Set(members.map(({ payTo }) => payTo).filter((payTo) => !known.has(payTo))).size)

  const singleLimit = (simulated: bigint) => (simulated * MARGIN_PERCENT) / 100n + NEW_ACCOUNT_GAS

  return {
    batchLimit(members) {
      const body = (perMember * BigInt(members.length) * MARGIN_PERCENT) / 100n
      return body + newAccounts(members) * NEW_ACCOUNT_GAS + BATCH_OVERHEAD
    },
    singleLimit,
    // What is learnt from shared transactions is less than a payment takes alone.
    aloneLimit: () => singleLimit(perMember > FIRST_GUESS ? perMember : FIRST_GUESS),
    maxMembers(blockGasLimit) {
      const room = (blockGasLimit * BLOCK_SHARE_PERCENT) / 100n - BATCH_OVERHEAD
      const each = (perMember * MARGIN_PERCENT) / 100n + NEW_ACCOUNT_GAS
      return Math.max(1, Number(room / each))
    },
    learn(gasUsed, payTos) {
      if (payTos.length === 0) return
      const base = payTos.length === 1 ? 0n : TRANSACTION_BASE
      const each = (gasUsed - base) / BigInt(payTos.length)
      // Up at once, down slowly: a limit too low costs a resend, one too high costs nothing.
      perMember = each > perMember ? each : (perMember * 31n + each) / 32n
      for (const payTo of payTos) known.add(payTo)
      if (known.size > MAX_KNOWN) known.clear()
    },
    perPayment: () => perMember,
  }
}
