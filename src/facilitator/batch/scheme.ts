import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/facilitator'
import type { BatchRequest } from '../../x402/batch-request.js'
import { type ReasonKey, type Rejection, reasons } from '../../x402/reasons.js'
import { reject } from '../ladder.js'
import type { RequestSigner } from './request-signer.js'

/** A channel as an answer of verify carries it. */
export interface ChannelExtra {
  channelId: string
  balance: string
  totalClaimed: string
  withdrawRequestedAt: number
  refundNonce: string
}

export type SchemeVerdict = { ok: true; extra: ChannelExtra } | { ok: false; rejection: Rejection }

/** Lets the scheme of the official package judge. Throws what kept the chain from being read. */
export async function verifyByScheme(
  request: BatchRequest,
  behind: RequestSigner,
): Promise<SchemeVerdict> {
  const { isValid, invalidReason, invalidMessage, extra } = await run(behind, (scheme) =>
    scheme.verify(payloadOf(request), requirementsOf(request)),
  )
  if (isValid) return { ok: true, extra: extra as unknown as ChannelExtra }
  return { ok: false, rejection: rejectionOf(invalidReason, invalidMessage) }
}

/** Lets it settle: what it wants to send goes through the signer. Gives its refusal; none where a job stands for it. */
export async function settleByScheme(
  request: BatchRequest,
  behind: RequestSigner,
): Promise<Rejection | undefined> {
  const { success, errorReason, errorMessage } = await run(behind, (scheme) =>
    scheme.settle(payloadOf(request), requirementsOf(request)),
  )
  if (success || behind.job() !== undefined) return undefined
  return rejectionOf(errorReason, errorMessage)
}

async function run<Answer>(
  behind: RequestSigner,
  ask: (scheme: BatchSettlementEvmScheme) => Promise<Answer>,
): Promise<Answer> {
  try {
    const answer = await ask(new BatchSettlementEvmScheme(behind.signer, undefined, config))
    if (behind.failure() === undefined || behind.job() !== undefined) return answer
  } catch (error) {
    throw behind.failure() ?? error
  }
  throw behind.failure()
}

/** What is pending is a row of the journal, and is found before the scheme is asked. */
const config = {
  pendingSettlementStore: {
    get: async () => undefined,
    set: async () => {},
    delete: async () => {},
  },
}

function payloadOf({ payload, acceptedNetwork, ...request }: BatchRequest): PaymentPayload {
  const accepted = { ...requirementsOf(request), network: acceptedNetwork }
  return { x402Version: 2, accepted, payload: { ...payload } } as PaymentPayload
}

function requirementsOf({ requirements }: Pick<BatchRequest, 'requirements'>): PaymentRequirements {
  const { amount, extra } = requirements
  return { ...requirements, amount: amount.toString(), extra: extra ?? {} } as PaymentRequirements
}

const keyByCode = new Map<string, ReasonKey>(
  (Object.keys(reasons) as ReasonKey[]).map((key) => [reasons[key].code, key]),
)

/** The scheme's code as one of ours. A code it did not have when this was written is no reason of ours to give. */
function rejectionOf(code: string | undefined, words: string | undefined): Rejection {
  const key = keyByCode.get(code ?? '')
  if (key === undefined) throw new Error(`the scheme answered the unknown code ${code}`)
  const { meaning } = reasons[key]
  return reject(
    key,
    words === undefined || words === code ? meaning : `${meaning} ${quoted(words)}`,
  )
}

/** Words of contracts and of the package, in which anything may stand. */
function quoted(words: string): string {
  return JSON.stringify(words.split('\n')[0]?.slice(0, 200) ?? '')
}
