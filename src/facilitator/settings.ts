import type { NativeAmount } from '@arcus/protocol/x402/amounts'
import type { NetworkId } from '@arcus/protocol/x402/networks'
import type { Address } from 'viem'

/** Recipients for which the operator pays gas. */
export interface PayToAllowed {
  readonly addresses: readonly Address[]
  /** Whether those with a proven listing here are among them. */
  readonly listed: boolean
}

/** Who may not pay and not be paid. */
export interface ScreeningSettings {
  /** The file of addresses that are refused on both sides of a payment, one a line. */
  readonly listFile: string | undefined
  /** The service of the operator that is asked about both sides. It may hold a key: never logged, never answered. */
  readonly serviceUrl: string | undefined
  /** What becomes of a payment about which the service gives no verdict in time. */
  readonly onError: 'refuse' | 'allow' | undefined
}

/** A network to settle on. */
export interface NetworkSettings {
  readonly network: NetworkId
  readonly chainId: number
  /** Nodes; the first is the primary. They may carry access keys: never logged, never answered. */
  readonly rpcUrls: readonly string[]
  /** Nodes that say by WebSocket when there is a new block; secret like the others. */
  readonly pushUrls?: readonly string[]
  /** The stablecoins that are settled; the first is the default one. */
  readonly assets: readonly [Address, ...Address[]]
  readonly explorerUrl?: string | undefined
  /** The setting that names the nodes, for errors. */
  readonly nodesSetting?: string
}

/** The settings of the facilitator, as the process or a stranger's server gives them. */
export interface FacilitatorSettings {
  /** The public address of its routes, without a slash at the end. */
  readonly baseUrl: string
  /** At least one. */
  readonly networks: readonly NetworkSettings[]
  /** The least amount of a payment, atomic units: of each token, and of some by their symbols. */
  readonly minAmount: {
    readonly least: bigint
    readonly bySymbol: Readonly<Record<string, bigint>>
  }
  readonly maxFeePerGasWei: bigint
  /** The ceiling on gas for settlements a day; `undefined` is none. */
  readonly dailyGasLimit: NativeAmount | undefined
  /** Gas that an account may burn a day in transactions that settle nothing. */
  readonly failedGasBudget: NativeAmount
  /** Gas that all accounts together may burn a day in transactions that settle nothing. */
  readonly wastedGasLimit: NativeAmount
  /** The wallets that may call the multicall of `upto`; `undefined` for the relayers. */
  readonly multicallWallets: readonly Address[] | undefined
  /** The recipients for which gas is paid; `undefined` for all. */
  readonly payToAllowed: PayToAllowed | undefined
  /** The list and the service that refuse some payers and recipients; `undefined` where nobody is screened. */
  readonly screening: ScreeningSettings | undefined
  /** How long a settle waits for its block before it answers that it is pending. */
  readonly settleWaitSeconds: number
  /** Days after which a decided payment keeps no calldata and no signed transaction; `undefined` where it keeps them. */
  readonly journalRetentionDays: number | undefined
}

/** What a facilitator does unless its operator says otherwise. */
export const facilitatorDefaults = {
  minAmount: { least: 1n, bySymbol: {} },
  // Fifty times Arc's floor of 20 gwei: room for a busy hour, not for a runaway fee.
  maxFeePerGasWei: 1_000n * 10n ** 9n,
  dailyGasLimit: undefined,
  // Five cents: some twenty failed transactions at the floor.
  failedGasBudget: 5n * 10n ** 16n,
  // A dollar: twenty accounts with code can burn this much by deceiving the simulation.
  wastedGasLimit: 10n ** 18n,
  multicallWallets: undefined,
  payToAllowed: undefined,
  screening: undefined,
  settleWaitSeconds: 30,
  journalRetentionDays: undefined,
} as const satisfies Omit<FacilitatorSettings, 'baseUrl' | 'networks'>

/** Settings that contradict what is on chain. The message is a sentence for the operator. */
export class FacilitatorSettingsError extends Error {
  override readonly name = 'FacilitatorSettingsError'
}
