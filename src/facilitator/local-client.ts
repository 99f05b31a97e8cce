import type { SupportedAnswer } from '@arcus/protocol/answers/payments'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import type { FacilitatorClient } from '@x402/core/server'
import {
  SettleError,
  type SettleResponse,
  type SupportedResponse,
  VerifyError,
  type VerifyResponse,
} from '@x402/core/types'
import { reportSettle, reportVerify } from './answers.js'
import type { Settle } from './settle/settler.js'
import type { Verify } from './verify/verifier.js'

interface LocalClientOptions {
  verify: Verify
  settle: Settle
  onAnswer(answer: PaymentAnswer): void
  supported(): SupportedAnswer
  /** Calls wait until this resolves. */
  started: Promise<void>
}

/** Makes a facilitator client for a merchant in the same process. It answers as the routes do, without HTTP. */
export function createLocalClient(options: LocalClientOptions): FacilitatorClient {
  const { verify, settle, supported, started } = options
  const report = (answer: PaymentAnswer | undefined) => answer && options.onAnswer(answer)

  return {
    async verify(payload, requirements) {
      await started
      const startedAt = performance.now()
      const result = await verify(toBody(payload, requirements))
      report(reportVerify(result, startedAt))
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
      report(reportSettle(result, startedAt))
      await result.delivery?.complete()
      const body = result.body as SettleResponse
      if (result.status === 200) return body
      throw new SettleError(result.status, body)
    },
    getSupported: async () => supported() as unknown as SupportedResponse,
  }
}

/** Makes the body as it would arrive over HTTP: only members that JSON has. */
function toBody(paymentPayload: { x402Version: number }, paymentRequirements: unknown): unknown {
  const { x402Version } = paymentPayload
  const body = { x402Version, paymentPayload, paymentRequirements }
  return JSON.parse(
    JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  )
}
