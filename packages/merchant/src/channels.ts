import { addressProblem, zeroAddress } from '@arcus/protocol/x402/address'
import { channelConfigSchema, voucherFieldsSchema } from '@arcus/protocol/x402/batch-schemas'
import type { NetworkId } from '@arcus/protocol/x402/networks'
import { canonicalSignature } from '@arcus/protocol/x402/signature-forms'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SchemeNetworkServer } from '@x402/core/types'
import type { ClientEvmSigner } from '@x402/evm'
import {
  type BatchSettlementChannelManager,
  BatchSettlementEvmScheme,
  type ChannelStorage,
} from '@x402/evm/batch-settlement/server'
import { FileChannelStorage } from '@x402/evm/batch-settlement/server/file-storage'
import { toFacilitatorClient } from './facilitator.js'
import { stablecoinOf } from './price.js'
import { startRounds } from './rounds.js'

interface ChannelLog {
  info(details: object, text: string): void
  error(details: object, text: string): void
}

/** The channels of one receiver by `batch-settlement`. Buyers deposit once and then sign a voucher for each call. */
export interface Channels {
  readonly payTo: string
  readonly network: NetworkId
  readonly asset: string
  /** The official scheme, which keeps the vouchers. */
  readonly scheme: SchemeNetworkServer
  /** Returns whether calls may be paid by channel now. */
  isOffered(): boolean
  /** Returns the same price by `batch-settlement`. Throws for another receiver, network or asset. */
  offer(exact: PaymentRequirements): PaymentRequirements
  /** Returns a buyer's payment in the form that can be claimed, or a code and a sentence with the reason why it cannot. */
  readPayment(payment: PaymentPayload): PaymentPayload | string
  /** Claims the earnings and settles the claims to the receiver. It also runs automatically. Never rejects. */
  run(): Promise<void>
  /** Resolves when nothing is under way. Earnings that are not claimed yet are claimed after the next start. */
  close(): Promise<void>
}

const DEFAULT_CLAIM_SECONDS = 3_600
const DEFAULT_WITHDRAW_DELAY_SECONDS = 86_400
/** Limits of the settlement contract, in seconds. */
const WITHDRAW_DELAY = { min: 900, max: 2_592_000 }
/** A deposit costs a transaction, so it should last for some calls. */
const CALLS_A_DEPOSIT = 10n

/** Takes payments by `batch-settlement` through the official server scheme, and claims them on a schedule. */
export function createChannels(options: {
  /** Base URL of the facilitator that sends deposits, claims and settlements, or a client of your own. */
  facilitator: string | FacilitatorClient
  /** The address that is paid: the receiver of every channel. */
  payTo: string
  /** Signs claims and refunds. It holds no money and needs no gas. Buyers' channels name it for good: keep the key. */
  signer: ClientEvmSigner
  /** A folder, or a storage of your own. A lost storage is lost money. */
  storage: string | ChannelStorage
  /** Default `eip155:5042`. */
  network?: NetworkId
  /** The token of all channels, such as the address of EURC. Default: dollars (USDC). */
  asset?: string
  /** Interval at which earnings are claimed and settled. Default 3600, at most half of `withdrawDelaySeconds`. */
  claimSeconds?: number
  /** Delay for a buyer who withdraws the deposit on chain. 900 to 2,592,000; default a day. */
  withdrawDelaySeconds?: number
  /** Returns whether the facilitator settles the scheme now. While it does not, routes offer `exact` alone. Default: always. */
  isOffered?: () => boolean
  /** Returns whether this process claims now, where several share a storage. Default: it always does. */
  isTurn?: () => boolean
  log?: ChannelLog
}): Channels {
  const { payTo, signer, network = 'eip155:5042', isOffered = () => true, isTurn, log } = options
  const claimSeconds = options.claimSeconds ?? DEFAULT_CLAIM_SECONDS
  const withdrawDelay = options.withdrawDelaySeconds ?? DEFAULT_WITHDRAW_DELAY_SECONDS
  checkTimes(claimSeconds, withdrawDelay)
  checkAddress('payTo', payTo)
  checkAddress('the address of signer', signer.address)
  const facilitator = toFacilitatorClient(options.facilitator)
  const storage =
    typeof options.storage === 'string'
      ? new FileChannelStorage({ directory: options.storage })
      : options.storage
  const scheme = new BatchSettlementEvmScheme(payTo as `0x${string}`, {
    storage,
    receiverAuthorizerSigner: signer,
    withdrawDelay,
    enforceMinDeposit: true,
  })
  const asset = options.asset ?? stablecoinOf(network).address
  checkAddress('asset', asset)
  const manager = scheme.createChannelManager(facilitator, network, asset as `0x${string}`)
  const rounds = createClaimRounds({ manager, claimSeconds, isOffered, isTurn, log })

  return {
    payTo,
    network,
    asset,
    scheme,
    isOffered,
    offer(exact) {
      const differs = (['network', 'asset', 'payTo'] as const).find(
        (name) => exact[name].toLowerCase() !== { network, asset, payTo }[name].toLowerCase(),
      )
      if (differs !== undefined) {
        throw new Error(`the channels are for another ${differs}, not ${exact[differs]}`)
      }
      return {
        ...exact,
        scheme: scheme.scheme,
        extra: {
          ...exact.extra,
          receiverAuthorizer: signer.address,
          withdrawDelay,
          minDeposit: String(BigInt(exact.amount) * CALLS_A_DEPOSIT),
        },
      }
    },
    readPayment,
    run: rounds.run,
    close: rounds.close,
  }
}

const VOUCHER_SIGNATURE = 'invalid_batch_settlement_evm_voucher_signature'

/**
 * Reads a payment into the form that the settlement contract accepts. The official scheme keeps a voucher as it came, and
 * accepts signatures and amounts in forms that the contract would refuse. A channel without a payerAuthorizer is refused:
 * code at the payer decides about its vouchers, now and again at the claim, and an account without code can be given
 * some at any time. The deposit of such a channel can still be refunded.
 */
function readPayment(payment: PaymentPayload): PaymentPayload | string {
  const given = payment.payload.voucher as Record<string, unknown> | null | undefined
  const signature = canonicalSignature(given?.signature)
  const config = channelConfigSchema.safeParse(payment.payload.channelConfig)
  if (!config.success) return malformed('channelConfig', config.error)
  const isRefund = payment.payload.type === 'refund'
  if (config.data.payerAuthorizer === zeroAddress) {
    if (isRefund) return payment
    return `${VOUCHER_SIGNATURE}: the channel needs a payerAuthorizer, a plain key that signs its vouchers (voucherSigner of the official client)`
  }
  if (signature === undefined) {
    return `${VOUCHER_SIGNATURE}: the signature must be r, s and v of 27 or 28, 65 bytes of hex`
  }
  const voucher = voucherFieldsSchema.safeParse({ ...given, signature })
  if (!voucher.success) return malformed('voucher', voucher.error)
  const spelled = payment.payload.channelConfig as typeof config.data
  const names = Object.keys(config.data) as (keyof typeof config.data)[]
  const channelConfig = Object.fromEntries(names.map((name) => [name, spelled[name]]))
  return { ...payment, payload: { ...payment.payload, channelConfig, voucher: voucher.data } }
}

function malformed(
  name: string,
  { issues: [issue] }: { issues: readonly { path: readonly PropertyKey[]; message: string }[] },
): string {
  const path = [name, ...(issue?.path ?? [])].join('.')
  return `invalid_payload: payload.${path} ${issue?.message}`
}

function checkAddress(name: string, text: string): void {
  const problem = addressProblem(text)
  if (problem !== undefined) throw new Error(`x402: ${name} ${problem}, got "${text}".`)
}

function checkTimes(claimSeconds: number, withdrawDelay: number): void {
  const { min, max } = WITHDRAW_DELAY
  if (!Number.isInteger(withdrawDelay) || withdrawDelay < min || withdrawDelay > max) {
    throw new Error(`x402: withdrawDelaySeconds is a whole number from ${min} to ${max}.`)
  }
  if (!(claimSeconds > 0) || claimSeconds > withdrawDelay / 2) {
    throw new Error('x402: claimSeconds is above 0 and at most half of withdrawDelaySeconds.')
  }
}

/** The facilitator's code where nothing was claimed since the last settlement. */
const NOTHING_TO_SETTLE = 'nothing_to_settle'

/**
 * Claims with the official manager, but on a schedule of our own. After a restart the manager's schedule forgets claims
 * that are not settled yet, and one channel that cannot be claimed would hold back all others.
 */
function createClaimRounds({
  manager,
  claimSeconds,
  isOffered,
  isTurn = () => true,
  log,
}: {
  manager: BatchSettlementChannelManager
  claimSeconds: number
  isOffered: () => boolean
  isTurn?: (() => boolean) | undefined
  log: ChannelLog | undefined
}): Pick<Channels, 'run' | 'close'> {
  type Select = NonNullable<Parameters<typeof manager.claim>[0]>['selectClaimChannels']

  async function claim(select: Select = (channels) => channels): Promise<void> {
    for (const claimed of await manager.claim({ selectClaimChannels: select })) {
      log?.info(claimed, 'x402: vouchers claimed')
    }
  }

  async function claimAll(): Promise<void> {
    try {
      await claim()
    } catch {
      // Claims one channel at a time, so that a failing one does not stop the others.
      const claims = await manager.getClaimableVouchers()
      for (const { signature } of claims) {
        await claim((channels) => channels.filter((it) => it.signature === signature)).catch(
          (err) => log?.error({ err }, 'x402: a channel could not be claimed; trying again'),
        )
      }
    }
  }

  /** Settles in every round: refunds claim too, and so may another process or one that ended between claim and settlement. */
  async function settle(): Promise<void> {
    try {
      const { transaction } = await manager.settle()
      log?.info({ transaction }, 'x402: claims settled')
    } catch (error) {
      if (!(error as Error).message.includes(NOTHING_TO_SETTLE)) throw error
    }
  }

  async function round(): Promise<void> {
    if (!isOffered() || !isTurn()) return
    await claimAll()
    await settle()
  }

  return startRounds(
    () => round().catch((err) => log?.error({ err }, 'x402: not claimed; trying again')),
    claimSeconds,
  )
}
