import type { Server } from 'node:http'
import { memberOf } from '@arcus/protocol/x402/json'
import type { RouteOffer } from './terms.js'

/** The right of one call to work for a payment. Both methods may be called again without effect. */
export interface PaymentTurn {
  /** True for a payer who has left several calls: their next payment is settled before it is worked for. */
  isPaidFirst: boolean
  /** The buyer has left while the handler worked for nothing. */
  abandon(): void
  /** The handler has ended, and so has the answer. */
  end(): void
}

/** Lets one call at a time work for a payment, and counts the calls that a payer has left. */
export interface InFlight {
  /** Returns `undefined` while another call works for the same payment. The payment must have been verified. */
  take(offer: RouteOffer, payer: string): PaymentTurn | undefined
}

/** Calls that a payer may leave, as connections break, before they pay first. */
const MAX_ABANDONED = 2
/** Milliseconds for which a call that was left counts. */
const ABANDONED_MS = 3_600_000
/** Payers whose calls are counted: some two megabytes. */
const MAX_PAYERS = 10_000

/** Creates the record. `now` is in Unix milliseconds. */
function createInFlight(now: () => number = Date.now): InFlight {
  /** When each payment ends that is worked for: a handler that never ends must not hold it for longer. */
  const worked = new Map<string, number>()
  const left = new Map<string, { calls: number; at: number }>()

  function callsLeftBy(payer: string): number {
    const found = left.get(payer)
    return found === undefined || now() - found.at > ABANDONED_MS ? 0 : found.calls
  }

  function countLeft(payer: string): void {
    const calls = callsLeftBy(payer) + 1
    // The payer goes to the end of the order, so the first one is the one that is longest quiet.
    left.delete(payer)
    left.set(payer, { calls, at: now() })
    const [first] = left.keys()
    if (left.size > MAX_PAYERS && first !== undefined) left.delete(first)
  }

  return {
    take(offer, payer) {
      const { network, maxTimeoutSeconds } = offer.requirements
      const key = keyOf(offer, payer)
      if (key !== undefined) {
        if ((worked.get(key) ?? 0) > now()) return undefined
        worked.set(key, now() + maxTimeoutSeconds * 1_000)
      }
      const account = `${network} ${payer.toLowerCase()}`
      let isOver = false
      let isLeft = false
      return {
        isPaidFirst: callsLeftBy(account) >= MAX_ABANDONED,
        abandon() {
          if (!isOver && !isLeft) countLeft(account)
          isLeft = true
        },
        end() {
          if (!isOver && key !== undefined) worked.delete(key)
          isOver = true
        },
      }
    },
  }
}

const byServer = new WeakMap<Server, InFlight>()

/** Returns the record of a server: all scopes that sell on it share one, because a payment may fit routes of several. */
export function inFlightOf(server: Server): InFlight {
  const known = byServer.get(server) ?? createInFlight()
  byServer.set(server, known)
  return known
}

/** Names a payment. A voucher has no name: its channel lets one call at a time draw on it. */
function keyOf({ payload, requirements }: RouteOffer, payer: string): string | undefined {
  const { authorization, permit2Authorization } = payload.payload as Record<string, unknown>
  const nonce = memberOf(permit2Authorization ?? authorization, 'nonce')
  if (typeof nonce !== 'string' && typeof nonce !== 'number') return undefined
  const method = permit2Authorization === undefined ? 'eip3009' : 'permit2'
  const { network, asset } = requirements
  return [network, asset, method, payer, spelled(nonce)].join(' ').toLowerCase()
}

/** Spells a nonce in one way: by Permit2 it is a number, which may be given in digits or in hexadecimal. */
function spelled(nonce: string | number): string {
  try {
    return BigInt(nonce).toString()
  } catch {
    return String(nonce)
  }
}
