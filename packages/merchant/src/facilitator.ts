import { randomUUID } from 'node:crypto'
import { type FacilitatorClient, HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload } from '@x402/core/types'

/** The same as the official client. */
export const FACILITATOR_TIMEOUT_MS = 90_000

/** Returns the client that was given, or makes one for a URL. */
export function toFacilitatorClient(
  facilitator: string | FacilitatorClient,
  timeoutMs = FACILITATOR_TIMEOUT_MS,
): FacilitatorClient {
  return typeof facilitator === 'string'
    ? createFacilitatorClient(facilitator, timeoutMs)
    : facilitator
}

/**
 * Makes the official client with one addition: every settlement carries an `Idempotency-Key`, for which Arcus repeats
 * its success to the same caller. So a settle whose connection broke is asked once more instead of being lost. The key
 * belongs to the payload object: two requests that present one payment have two keys.
 */
function createFacilitatorClient(url: string, timeoutMs: number): FacilitatorClient {
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

/** `fetch` throws a TypeError for a connection that failed or broke, and another error for an answer that took too long. */
function isLostConnection(error: unknown): boolean {
  return error instanceof TypeError
}
