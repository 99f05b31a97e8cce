import { type X402Options, x402 } from '@arcus/merchant'
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import type { FacilitatorClient } from '@x402/core/server'
import type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '@x402/core/types'
import fastify, {
  type FastifyInstance,
  type FastifyServerOptions,
  type InjectOptions,
  type LightMyRequestResponse,
} from 'fastify'
import { onTestFinished } from 'vitest'

export const payTo = '0x00000000000000000000000000000000000000AA'
export const payer = '0x00000000000000000000000000000000000000bB'
export const transaction = `0x${'ab'.repeat(32)}`

export interface FakeFacilitator extends FacilitatorClient {
  calls: ('verify' | 'settle')[]
  payloads: PaymentPayload[]
  settled: number
}

interface Answers {
  verify?: (payload: PaymentPayload) => Promise<VerifyResponse> | VerifyResponse
  settle?: (
    payload: PaymentPayload,
    requirements: PaymentRequirements,
  ) => Promise<SettleResponse> | SettleResponse
  supported?: () => Promise<SupportedResponse> | SupportedResponse
}

export const success: SettleResponse = {
  success: true,
  transaction,
  network: 'eip155:5042',
  payer,
}

/** Makes a facilitator that accepts every payment, unless an answer is given. */
export function aFacilitator({ verify, settle, supported }: Answers = {}): FakeFacilitator {
  const fake: FakeFacilitator = {
    calls: [],
    payloads: [],
    settled: 0,
    async verify(payload) {
      fake.calls.push('verify')
      fake.payloads.push(payload)
      return (await verify?.(payload)) ?? { isValid: true, payer }
    },
    async settle(payload, requirements) {
      fake.calls.push('settle')
      const answer = (await settle?.(payload, requirements)) ?? success
      if (answer.success) fake.settled++
      return answer
    },
    getSupported: async () => (await supported?.()) ?? { kinds: [], extensions: [], signers: {} },
  }
  return fake
}

export interface Shop {
  app: FastifyInstance
  facilitator: FakeFacilitator
}

/** Makes a server that sells, which closes at the end of the test. `routes` are declared after the plugin. */
export async function aShop(
  routes: (app: FastifyInstance) => unknown,
  options: {
    x402?: Partial<X402Options>
    facilitator?: FakeFacilitator
    server?: FastifyServerOptions
    before?: (app: FastifyInstance) => unknown
  } = {},
): Promise<Shop> {
  const facilitator = options.facilitator ?? aFacilitator()
  const app = fastify(options.server as FastifyServerOptions) as FastifyInstance
  onTestFinished(() => app.close())
  await options.before?.(app)
  await app.register(x402, { facilitator, payTo, ...options.x402 })
  await routes(app)
  return { app, facilitator }
}

/** Returns the terms of a 402. */
export function readRequired(response: LightMyRequestResponse): PaymentRequired {
  return decodePaymentRequiredHeader(response.headers['payment-required'] as string)
}

export function readSettlement(response: LightMyRequestResponse): SettleResponse {
  return decodePaymentResponseHeader(response.headers['payment-response'] as string)
}

/** Returns the payload that a buyer would send for a 402. It is not signed. */
export function aPayload(required: PaymentRequired, nonce = '0x'): PaymentPayload {
  const [accepted] = required.accepts
  if (accepted === undefined) throw new Error('nothing is asked for')
  const { amount, payTo: to } = accepted
  const authorization = {
    from: payer,
    to,
    value: amount,
    validAfter: '0',
    validBefore: '9',
    nonce,
  }
  return {
    x402Version: 2,
    accepted,
    resource: required.resource,
    payload: { signature: '0x', authorization },
    ...(required.extensions === undefined ? {} : { extensions: required.extensions }),
  }
}

/** Requests the terms and then pays them. Both requests carry the same headers. */
export async function buy(app: FastifyInstance, request: InjectOptions) {
  const asked = await app.inject(request)
  const signature = encodePaymentSignatureHeader(aPayload(readRequired(asked)))
  const headers = { ...request.headers, 'payment-signature': signature }
  return app.inject({ ...request, headers })
}
