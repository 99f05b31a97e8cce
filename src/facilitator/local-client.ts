import type { FacilitatorClient } from '@x402/core/server'
import {
  SettleError,
  type SettleResponse,
  VerifyError,
  type VerifyResponse,
} from '@x402/core/types'
import type { PaymentAnswer } from '../x402/payment-answer.js'
import { reportSettle, reportVerify } from './answer-report.js'
import type { Settle } from './settler.js'
import type { Verify } from './verifier.js'

export interface LocalClientOptions {
  verify: Verify
  settle: Settle
  onAnswer(answer: PaymentAnswer): void
  /** Nothing is asked before it resolves. */
  started: Promise<void>
}

/** The facilitator for a merchant in its own process: what the routes answer, without the way over the network. */
export function createLocalClient(options: LocalClientOptions): FacilitatorClient {
  const { verify, settle, started } = options
  const tell = (answer: PaymentAnswer | undefined) => answer && options.onAnswer(answer)

  return {
    async verify(payload, requirements) {
      await started
      const startedAt = performance.now()
      const result = await verify(toBody(payload, requirements))
      tell(reportVerify(result, startedAt))
      const body = result.body as VerifyResponse
      if (result.status === 200) return body
      throw new VerifyError(result.status, body)
    },
    async settle(payload, requirements) {
      await started
      const startedAt = performance.now()
      const result = await settle({
        body: toBody(payload, requirements),
        idempotencyKey: undefined,
        isConnected: () => true,
      })
      tell(reportSettle(result, startedAt))
      await result.delivery?.complete()
      const body = result.body as SettleResponse
      if (result.status === 200) return body
      throw new SettleError(result.status, body)
    },
    getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
  }
}

/** The body as it would arrive: without what JSON does not have. */
function toBody(paymentPayload: { x402Version: number }, paymentRequirements: unknown): unknown {
  const { x402Version } = paymentPayload
  const body = { x402Version, paymentPayload, paymentRequirements }
  return JSON.parse(
    JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  )
}
