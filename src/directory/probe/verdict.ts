import type { Address } from 'viem'
import { type GuardedAnswer, headOf } from './guarded-answer.js'
import { judgeAccepts } from './judge-accepts.js'
import {
  type PaymentRequiredAnswer,
  parsePaymentRequired,
  type QuotedPayment,
} from './payment-required.js'
import type { QuotedTerms } from './quoted-terms.js'

export type VerdictState =
  | 'live'
  | 'not_402'
  | 'wrong_network'
  | 'wrong_asset'
  | 'wrong_payto'
  | 'redirect'
  | 'blocked_target'
  | 'unreachable'

/** What is odd about an endpoint that is live all the same. */
export type VerdictWarning =
  | 'price_drift'
  | 'amount_zero'
  | 'schema_missing'
  | 'wrong_domain'
  | 'scheme_not_settled'
  | 'header_missing'
  | 'header_url_safe'
  | 'requirements_unusable'
  | 'foreign_pay_to'

export interface Verdict {
  state: VerdictState
  /** One sentence or two: what was seen, and how to mend it. */
  message: string
  warnings: VerdictWarning[]
  seen: Record<string, string | number | null>
  /** The requirement a buyer on the served network would choose; only with `live`. */
  chosen?: QuotedTerms
  /** What of its requirements may be published: all but those that pay somebody else; only with `live`. */
  accepts?: QuotedTerms[]
  /** What the 402 said, when there was one to read. */
  quoted?: QuotedPayment
}

/** What an endpoint should ask for. Without `payTo` or `price` any will do. */
export interface Expected {
  network: string
  /** The pinned stablecoin with its EIP-712 name and version. */
  asset: { address: Address; name: string; version: string }
  payTo?: Address
  /** Atomic units. */
  price?: bigint
  /** Whether the listing itself says how to call the endpoint. */
  hasSchema: boolean
  method: string
}

/** Servers that are busy, not wrong: asking again later can end otherwise. */
const passingStatuses = [408, 425, 429]

/** Judges what an endpoint answered to a call without payment. */
export function judgeAnswer(answer: GuardedAnswer, expected: Expected): Verdict {
  if (answer.kind === 'blocked') return verdict('blocked_target', answer.message)
  if (answer.kind === 'redirect') {
    const { head, location, message } = answer
    const seen = { status: head.status, location }
    return verdict('redirect', `${message} List the address it leads to instead.`, seen)
  }
  const head = headOf(answer)
  if (head === undefined) return judgeSilence(answer)
  if (head.status !== 402) return judgeStatus(head.status, expected.method)
  const required = parsePaymentRequired(head.headers, answer.kind === 'answer' ? answer.body : '')
  return required.kind === 'quoted'
    ? judgeAccepts(required, expected)
    : judgeUnreadable(required, answer)
}

/** Whether a verdict says that the endpoint is wrong, rather than that it could not be judged now. */
export function isDefinite(state: VerdictState): boolean {
  return state !== 'live' && state !== 'unreachable'
}

function judgeSilence(answer: GuardedAnswer): Verdict {
  const seen: Verdict['seen'] = { failure: answer.kind }
  if (answer.kind === 'unreachable') seen.code = answer.code
  const text = 'message' in answer ? answer.message : ''
  return verdict('unreachable', `${text} It is tried again later.`, seen)
}

function judgeStatus(status: number, method: string): Verdict {
  const seen = { status }
  if (status >= 500 || passingStatuses.includes(status)) {
    const message = `The endpoint answered ${status} instead of 402; it is tried again later.`
    return verdict('unreachable', message, seen)
  }
  const advice = adviceFor(status, method)
  return verdict('not_402', `The endpoint answered ${status} instead of 402: ${advice}.`, seen)
}

function adviceFor(status: number, method: string): string {
  if (status < 300) return `ask for payment of ${method} requests before serving them`
  if (status === 401 || status === 403) return 'ask for payment before any other permission'
  if (status === 404) return `check the URL, and that it serves ${method}`
  if (status === 405) return `it does not serve ${method}; list the method it is paid with`
  return 'make the example one the endpoint takes, or ask for payment before looking at parameters'
}

function judgeUnreadable(
  required: Exclude<PaymentRequiredAnswer, QuotedPayment>,
  answer: GuardedAnswer,
): Verdict {
  if (required.kind === 'version1') {
    const message =
      'The endpoint answered 402 in x402 version 1 only; upgrade it to version 2, with the header PAYMENT-REQUIRED.'
    return verdict('not_402', message, { status: 402, x402Version: 1 })
  }
  const what = required.hasHeader
    ? 'a PAYMENT-REQUIRED header that cannot be read'
    : 'no PAYMENT-REQUIRED header'
  const body = answer.kind === 'answer' ? '' : ', and its body could not be read'
  const message = `The endpoint answered 402 with ${what}${body}; send base64 of the x402 version 2 JSON in that header.`
  return verdict('not_402', message, { status: 402, x402Version: null })
}

function verdict(state: VerdictState, message: string, seen: Verdict['seen'] = {}): Verdict {
  return { state, message, warnings: [], seen }
}
