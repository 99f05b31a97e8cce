import { type FacilitatorClient, x402ResourceServer } from '@x402/core/server'
import {
  type PaymentPayload,
  SettleError,
  type SettleResponse,
  VerifyError,
} from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { networks } from '../x402/networks.js'
import { paymentRequired, type Terms } from './terms.js'

/** An answer instead of the goods. */
export interface Refusal {
  /** 402: another payment may do. 502: the facilitator could not judge this one. */
  status: 402 | 502
  /** A code of the protocol, or one with what is wrong. */
  error: string
  message: string
  /** What the facilitator said of a settlement that failed. */
  settlement?: SettleResponse
}

export type Verified = { ok: true; payer: string } | { ok: false; refusal: Refusal }
export type Settled =
  | { ok: true; settlement: SettleResponse }
  | { ok: false; refusal: Refusal; cause?: unknown }

/** Speaks with the facilitator about payments; no method rejects. */
export interface Cashier {
  /** What in a payment is not what these terms ask; `undefined` when it fits. */
  findMismatch(payload: PaymentPayload, terms: Terms): string | undefined
  verify(payload: PaymentPayload, terms: Terms): Promise<Verified & { cause?: unknown }>
  /** Asks once more when the transaction is still on its way. */
  settle(payload: PaymentPayload, terms: Terms): Promise<Settled>
}

const TOO_MANY_REQUESTS = 429
const MAX_TEXT_CHARS = 500

/** The server half of `@x402/core`, without its start-up call: a merchant starts while the facilitator is down. */
export function createCashier(facilitator: FacilitatorClient): Cashier {
  const resources = new x402ResourceServer(facilitator)
  for (const { network } of Object.values(networks)) {
    resources.register(network, new ExactEvmScheme())
  }

  return {
    findMismatch(payload, terms) {
      const { requirements } = terms
      if (resources.findMatchingRequirements([requirements], payload) === undefined) {
        return `invalid_payment_requirements: ${describeMismatch(payload, terms)}`
      }
      const echo = resources.validateExtensions(paymentRequired(terms, ''), payload)
      return echo.valid ? undefined : echo.invalidReason
    },
    async verify(payload, { requirements }) {
      try {
        const result = await resources.verifyPayment(payload, requirements)
        if (result.isValid) return { ok: true, payer: result.payer ?? payerOf(payload) }
        return { ok: false, refusal: invalid(result.invalidReason, result.invalidMessage) }
      } catch (cause) {
        if (cause instanceof VerifyError && isJudgement(cause.statusCode)) {
          return { ok: false, refusal: invalid(cause.invalidReason, cause.invalidMessage) }
        }
        return { ok: false, refusal: unverified, cause }
      }
    },
    async settle(payload, { requirements }) {
      try {
        const settlement = await resources.settlePayment(payload, requirements)
        return settlement.success
          ? { ok: true, settlement }
          : { ok: false, refusal: failed(402, settlement) }
      } catch (cause) {
        if (!(cause instanceof SettleError)) return { ok: false, refusal: unsettled, cause }
        const status = isJudgement(cause.statusCode) ? 402 : 502
        return {
          ok: false,
          refusal: failed(status, settlementOf(cause, requirements.network)),
          cause,
        }
      }
    },
  }
}

/** Whether the facilitator looked at the payment and refused it, or could not look. */
function isJudgement(statusCode: number): boolean {
  return statusCode < 500 && statusCode !== TOO_MANY_REQUESTS
}

const compared = ['scheme', 'network', 'asset', 'amount', 'payTo', 'maxTimeoutSeconds'] as const

function describeMismatch({ accepted }: PaymentPayload, { requirements }: Terms): string {
  const name = compared.find((member) => accepted[member] !== requirements[member])
  if (name === undefined) return 'accepted has other members than this resource asks for'
  const got = (JSON.stringify(accepted[name]) ?? 'nothing').slice(0, 100)
  return `accepted.${name} is ${got}, this resource asks for ${JSON.stringify(requirements[name])}`
}

function payerOf({ payload }: PaymentPayload): string {
  const { from } = (payload.authorization ?? {}) as { from?: unknown }
  return typeof from === 'string' ? from : ''
}

function invalid(reason: unknown, message: unknown): Refusal {
  return {
    status: 402,
    error: readText(reason, 'invalid_payload'),
    message: readText(message, 'The payment is not valid.'),
  }
}

function failed(status: 402 | 502, settlement: SettleResponse): Refusal {
  const error = readText(settlement.errorReason, 'settlement_failed')
  const message = readText(settlement.errorMessage, 'The payment could not be settled.')
  return { status, error, message, settlement: { ...settlement, errorReason: error } }
}

/** Words of the facilitator, no longer than a header can carry. */
function readText(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT_CHARS) : otherwise
}

function settlementOf(error: SettleError, network: `${string}:${string}`): SettleResponse {
  const { errorReason, errorMessage, payer, transaction = '' } = error
  return {
    success: false,
    transaction,
    network: error.network || network,
    ...(errorReason === undefined ? {} : { errorReason }),
    ...(errorMessage === undefined ? {} : { errorMessage }),
    ...(payer === undefined ? {} : { payer }),
  }
}

const unverified: Refusal = {
  status: 502,
  error: 'facilitator_unavailable',
  message: 'The payment could not be checked. Nothing was charged; try again later.',
}

/** The transaction may be on its way all the same. */
const unsettled: Refusal = {
  status: 502,
  error: 'facilitator_unavailable',
  message:
    'Whether the payment was settled is not known. Present the same payment again, not a new one.',
}
