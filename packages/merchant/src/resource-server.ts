import { defined, memberOf } from '@arcus/protocol/x402/json'
import { networks } from '@arcus/protocol/x402/networks'
import { type FacilitatorClient, x402ResourceServer } from '@x402/core/server'
import {
  type PaymentPayload,
  SettleError,
  type SettleResponse,
  VerifyError,
  type VerifyResponse,
} from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import type { Channels } from './channels.js'
import { EXTENSION_FAILED, type Extensions } from './extensions.js'
import { paymentRequired, type RouteOffer, type RouteTerms, railKey } from './terms.js'
import { type UptoWallets, uptoScheme } from './upto.js'

/** The answer to a payment that is not accepted. */
export interface PaymentRefusal {
  /**
   * 402: another payment may be accepted. 412: the buyer must approve Permit2 first. 502: the facilitator could not
   * verify or settle this one, or an extension failed.
   */
  status: 402 | 412 | 502
  /** A code of the protocol, or a code followed by the problem. */
  error: string
  message: string
  /** The facilitator's answer about a settlement that failed. */
  settlement?: SettleResponse
}

export type VerifyOutcome =
  /** `answer` is the answer of the scheme itself to a request that buys nothing, such as one that closes a channel. */
  { ok: true; payer: string; answer?: unknown } | { ok: false; refusal: PaymentRefusal }
export type SettleOutcome =
  | { ok: true; settlement: SettleResponse }
  | { ok: false; refusal: PaymentRefusal; cause?: unknown }

/** Verifies and settles payments through the facilitator. No method rejects. */
export interface ResourceServer {
  /** Returns the terms that a payment takes up, or the reason why it takes up none. */
  match(payload: PaymentPayload, terms: RouteTerms): RouteOffer | string
  verify(offer: RouteOffer): Promise<VerifyOutcome & { cause?: unknown }>
  /** Settles the price, or less where the scheme allows it. */
  settle(offer: RouteOffer, amount?: bigint): Promise<SettleOutcome>
  /** Releases the channel of a verified payment that will not be settled. Has no effect by `exact`. */
  cancel(offer: RouteOffer): Promise<void>
  /** Returns the terms with the state of the channel, for a buyer whose own record of it is out of date. */
  reoffer(offer: RouteOffer, error: string): Promise<RouteTerms>
}

const TOO_MANY_REQUESTS = 429
const MAX_TEXT_CHARS = 500
/** The code for a scheme that could not read or write its channels. */
const STATE_UNAVAILABLE = 'invalid_batch_settlement_evm_verification_state_unavailable'

/** Makes the server half of `@x402/core` without its start-up call: a merchant starts while the facilitator is down. */
export function createResourceServer(
  facilitator: FacilitatorClient,
  channels: Channels | undefined,
  wallets: UptoWallets,
  extensions: Extensions,
): ResourceServer {
  const resources = new x402ResourceServer(facilitator)
  for (const { network } of Object.values(networks)) {
    resources.register(network, new ExactEvmScheme())
    resources.register(network, uptoScheme)
  }
  if (channels !== undefined) resources.register(channels.network, channels.scheme)
  extensions.register(resources)

  const servers = new Map([[facilitator, resources]])

  /** Returns the half that asks the facilitator of an offer: a payment is shown to no other. */
  function resourcesOf({ requirements, terms }: RouteOffer): x402ResourceServer {
    const { network } = requirements
    const own = terms.facilitators.get(railKey(requirements))
    if (own === undefined) return resources
    const server = servers.get(own) ?? new x402ResourceServer(own)
    if (!servers.has(own)) extensions.register(server)
    servers.set(own, server)
    if (!server.hasRegisteredScheme(network, 'exact'))
      server.register(network, new ExactEvmScheme())
    return server
  }

  async function cancel(offer: RouteOffer): Promise<void> {
    const { payload, requirements, terms } = offer
    const dispatcher = resourcesOf(offer).createPaymentCancellationDispatcher(
      payload,
      requirements,
      terms.declared,
      terms.transport,
    )
    await dispatcher.cancel({ reason: 'handler_failed' })
  }

  return {
    match(payload, terms) {
      const accepts = terms.accepts.map((asked) => wallets.withWalletOf(payload, asked))
      const requirements = resources.findMatchingRequirements(accepts, payload)
      if (requirements === undefined) {
        return `invalid_payment_requirements: ${describeMismatch(payload, terms)}`
      }
      const echo = resources.validateExtensions(paymentRequired(terms, ''), payload)
      if (!echo.valid) return echo.invalidReason
      if (requirements.scheme !== 'batch-settlement') return { payload, requirements, terms }
      const read = channels?.readPayment(payload) ?? payload
      return typeof read === 'string' ? read : { payload: read, requirements, terms }
    },
    async verify(offer) {
      const { payload, requirements, terms } = offer
      try {
        const result = await resourcesOf(offer).verifyPayment(
          payload,
          requirements,
          terms.declared,
          terms.transport,
        )
        if (result.isValid && payload.payload.type !== 'refund' && isWithdrawing(result)) {
          await cancel(offer)
          return { ok: false, refusal: withdrawing }
        }
        if (result.isValid) {
          const answer = result.skipHandler && (result.skipHandler.body ?? {})
          return { ok: true, payer: result.payer ?? payerOf(payload), ...(answer && { answer }) }
        }
        if (result.invalidReason === STATE_UNAVAILABLE) return { ok: false, refusal: unverified }
        return { ok: false, refusal: invalid(result.invalidReason, result.invalidMessage) }
      } catch (cause) {
        if (cause instanceof VerifyError && isRefusal(cause.statusCode)) {
          return { ok: false, refusal: invalid(cause.invalidReason, cause.invalidMessage) }
        }
        return { ok: false, refusal: unverified, cause }
      }
    },
    async settle(offer, amount) {
      const { payload, requirements, terms } = offer
      const part = amount === undefined ? undefined : { amount: String(amount) }
      try {
        const settlement = await resourcesOf(offer).settlePayment(
          payload,
          requirements,
          terms.declared,
          terms.transport,
          part,
        )
        return settlement.success
          ? { ok: true, settlement }
          : { ok: false, refusal: failed(402, settlement) }
      } catch (cause) {
        if (!(cause instanceof SettleError)) return { ok: false, refusal: unsettled, cause }
        const isOurs = cause.errorReason === EXTENSION_FAILED
        const status = isRefusal(cause.statusCode) && !isOurs ? 402 : 502
        return {
          ok: false,
          refusal: failed(status, settlementOf(cause, requirements.network)),
          cause,
        }
      }
    },
    cancel,
    async reoffer({ payload, requirements, terms }, error) {
      if (requirements.scheme !== 'batch-settlement') return terms
      const again = await resources.createPaymentRequiredResponse(
        [...terms.accepts],
        { url: '' },
        error,
        undefined,
        undefined,
        payload,
      )
      return { ...terms, accepts: again.accepts as unknown as RouteTerms['accepts'] }
    },
  }
}

/** Returns whether the facilitator refused the payment, rather than being unable to check it. */
function isRefusal(statusCode: number): boolean {
  return statusCode < 500 && statusCode !== TOO_MANY_REQUESTS
}

/** Returns whether the payer is withdrawing the deposit of the channel: a voucher signed from now on may come too late. */
function isWithdrawing({ extra }: VerifyResponse): boolean {
  return Number(extra?.withdrawRequestedAt ?? 0) > 0
}

const compared = ['scheme', 'network', 'asset', 'amount', 'payTo', 'maxTimeoutSeconds'] as const

function describeMismatch({ accepted }: PaymentPayload, { accepts }: RouteTerms): string {
  const ways = accepts.filter(({ network }) => network === accepted.network)
  const requirements =
    (ways.length > 0 ? ways : accepts).find(({ scheme }) => scheme === accepted.scheme) ??
    accepts[0]
  const differing =
    compared.map((name) => [name, accepted[name], requirements[name]] as const).find(differs) ??
    // For example the EIP-712 domain, which buyers take from another chain.
    Object.entries(requirements.extra)
      .map(([name, asked]) => [`extra.${name}`, accepted.extra?.[name], asked] as const)
      .find(differs)
  if (differing === undefined) return 'accepted has other members than this resource asks for'
  const [name, got, asked] = differing
  const given = (JSON.stringify(got) ?? 'nothing').slice(0, 100)
  return `accepted.${name} is ${given}, this resource asks for ${JSON.stringify(asked)}`
}

function differs([, got, asked]: readonly [string, unknown, unknown]): boolean {
  return JSON.stringify(got) !== JSON.stringify(asked)
}

function payerOf({ payload }: PaymentPayload): string {
  const { authorization, permit2Authorization, channelConfig } = payload as Record<string, unknown>
  const candidates = [
    memberOf(authorization, 'from'),
    memberOf(permit2Authorization, 'from'),
    memberOf(channelConfig, 'payer'),
  ]
  return candidates.find((it) => typeof it === 'string') ?? ''
}

const ALLOWANCE_REQUIRED = 'permit2_allowance_required'

function invalid(reason: unknown, message: unknown): PaymentRefusal {
  return {
    status: reason === ALLOWANCE_REQUIRED ? 412 : reason === EXTENSION_FAILED ? 502 : 402,
    error: readText(reason, 'invalid_payload'),
    message: readText(message, 'The payment is not valid.'),
  }
}

function failed(status: 402 | 502, settlement: SettleResponse): PaymentRefusal {
  const error = readText(settlement.errorReason, 'settlement_failed')
  const message = readText(settlement.errorMessage, 'The payment could not be settled.')
  return { status, error, message, settlement: { ...settlement, errorReason: error } }
}

/** Returns a text of the facilitator, cut to a length that a header can carry. */
function readText(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT_CHARS) : otherwise
}

function settlementOf(error: SettleError, network: `${string}:${string}`): SettleResponse {
  const { errorReason, errorMessage, payer, transaction = '' } = error
  return {
    success: false,
    transaction,
    network: error.network || network,
    ...defined({ errorReason, errorMessage, payer }),
  }
}

const withdrawing: PaymentRefusal = {
  status: 402,
  error: 'channel_withdrawing',
  message:
    'A withdrawal of the deposit is under way on chain. Finish it or ask for a refund, then deposit again.',
}

const unverified: PaymentRefusal = {
  status: 502,
  error: 'facilitator_unavailable',
  message: 'The payment could not be checked. Nothing was charged; try again later.',
}

/** The answer when the outcome is unknown: the transaction may be on its way all the same. */
const unsettled: PaymentRefusal = {
  status: 502,
  error: 'facilitator_unavailable',
  message:
    'It is not known whether the payment was settled. Present the same payment again, not a new one.',
}
