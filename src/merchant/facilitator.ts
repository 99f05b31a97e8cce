import { randomUUID } from 'node:crypto'
import { type FacilitatorClient, HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload } from '@x402/core/types'

/**
 * The official client, and one thing it lacks: every settlement carries an `Idempotency-Key`, by which Arcus repeats
 * its success to whom it belongs. So a settle whose connection broke is asked once more instead of being lost.
 * The key belongs to the object of the payload: two requests that present one payment have two.
 */
export function createFacilitatorClient(url: string, timeoutMs: number): FacilitatorClient {
  const client = new HTTPFacilitatorClient({ url, timeoutMs })
  const keys = new WeakMap<PaymentPayload, string>()

  function keyOf(payload: PaymentPayload): string {
    const key = keys.get(payload) ?? randomUUID()
    keys.set(payload, key)
    return key
  }

  return {
    verify: (payload, requirements) => client.verify(payload, requirements),
    getSupported: () => client.getSupported(),
    async settle(payload, requirements) {
      const settle = { 'Idempotency-Key': keyOf(payload) }
      const createAuthHeaders = async () => ({ verify: {}, settle, supported: {} })
      const keyed = new HTTPFacilitatorClient({ url, timeoutMs, createAuthHeaders })
      try {
        return await keyed.settle(payload, requirements)
      } catch (error) {
        if (!isLostConnection(error)) throw error
        return keyed.settle(payload, requirements)
      }
    },
  }
}

/** `fetch` tells a connection that failed or broke by a TypeError; an answer that took too long is another error. */
function isLostConnection(error: unknown): boolean {
  return error instanceof TypeError
}
