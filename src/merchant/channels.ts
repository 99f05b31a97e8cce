import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SchemeNetworkServer } from '@x402/core/types'
import type { ClientEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme, type ChannelStorage } from '@x402/evm/batch-settlement/server'
import { FileChannelStorage } from '@x402/evm/batch-settlement/server/file-storage'
import { addressProblem, zeroAddress } from '../x402/address.js'
import { channelConfigSchema, voucherFieldsSchema } from '../x402/batch-schemas.js'
import type { Network } from '../x402/networks.js'
import { canonicalSignature } from '../x402/signature-forms.js'
import { type ClaimLog, createClaimRounds } from './claim-rounds.js'
import { createFacilitatorClient } from './facilitator.js'
import { stablecoinOf } from './price.js'

export interface ChannelsOptions {
  /** Base URL of the facilitator that brings deposits, claims and settlements, or a client of your own. */
  facilitator: string | FacilitatorClient
  /** Who is paid: the receiver of every channel. */
  payTo: string
  /** Signs claims and refunds; it holds no money and needs no gas. Buyers' channels name it for good: keep the key. */
  signer: ClientEvmSigner
  /** A folder, or a storage of your own. What is lost here is money that was earned. */
  storage: string | ChannelStorage
  /** Default `eip155:5042`, in its stablecoin. */
  network?: Network
  /** How often what was earned is claimed and settled. Default 3600; at most half of `withdrawDelaySeconds`. */
  claimSeconds?: number
  /** How long a buyer who takes his deposit back has to wait. 900 to 2,592,000; default a day. */
  withdrawDelaySeconds?: number
  /** Whether the facilitator settles the scheme just now; while it does not, routes ask for `exact` alone. Default: always. */
  isOffered?: () => boolean
  /** Where several processes share a storage: whether this one claims now. Default: it always does. */
  isTurn?: () => boolean
  log?: ClaimLog
}

/** The channels of one receiver by `batch-settlement`: buyers deposit once and then sign for each call. */
export interface Channels {
  readonly payTo: string
  readonly network: Network
  /** The official scheme, which keeps the vouchers. */
  readonly scheme: SchemeNetworkServer
  /** Whether calls may be paid so just now. */
  isOffered(): boolean
  /** The same price by `batch-settlement`. Throws for another receiver, network or asset. */
  offer(exact: PaymentRequirements): PaymentRequirements
  /** A buyer's payment in the form in which it can be claimed, or why it never could be: a code and a sentence. */
  readPayment(payment: PaymentPayload): PaymentPayload | string
  /** Claims what was earned, and brings what was claimed to the receiver; also runs by itself. Never rejects. */
  run(): Promise<void>
  /** Ends when nothing is under way; what is not claimed is claimed after the next start. */
  close(): Promise<void>
}

const DEFAULT_CLAIM_SECONDS = 3_600
const DEFAULT_WITHDRAW_DELAY_SECONDS = 86_400
/** Of the settlement contract. */
const WITHDRAW_DELAY = { min: 900, max: 2_592_000 }
const FACILITATOR_TIMEOUT_MS = 90_000
/** A deposit is a transaction, so it should last for some calls. */
const CALLS_A_DEPOSIT = 10n

/** Takes payments by `batch-settlement` through the official server scheme, and claims them on a schedule. */
export function createChannels(options: ChannelsOptions): Channels {
  const { payTo, signer, network = 'eip155:5042', isOffered = () => true, isTurn, log } = options
  const claimSeconds = options.claimSeconds ?? DEFAULT_CLAIM_SECONDS
  const withdrawDelay = options.withdrawDelaySeconds ?? DEFAULT_WITHDRAW_DELAY_SECONDS
  checkTimes(claimSeconds, withdrawDelay)
  checkAddress('payTo', payTo)
  checkAddress('the address of signer', signer.address)
  const facilitator =
    typeof options.facilitator === 'string'
      ? createFacilitatorClient(options.facilitator, FACILITATOR_TIMEOUT_MS)
      : options.facilitator
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
  const { asset } = stablecoinOf(network)
  const manager = scheme.createChannelManager(facilitator, network, asset as `0x${string}`)
  const rounds = createClaimRounds({ manager, claimSeconds, isOffered, isTurn, log })

  return {
    payTo,
    network,
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
 * The official scheme keeps a voucher as it came, and lets in what the settlement contract would refuse: signatures in
 * other forms, amounts in other words. A channel without a payerAuthorizer is refused: whether its vouchers are good is
 * for code at the payer to say, now and at the claim, and an account without code can be given some at any time. Money
 * that lies in such a channel can still be given back.
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
