import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import type { FastifyBaseLogger } from 'fastify'
import type { RoutePrice, X402Options } from './options.js'

const optionNames: Record<keyof X402Options, true> = {
  facilitator: true,
  payTo: true,
  network: true,
  routes: true,
  baseUrl: true,
  maxTimeoutSeconds: true,
  maxHeldBytes: true,
  refunds: true,
  channels: true,
  facilitatorTimeoutMs: true,
  serviceName: true,
  tags: true,
  iconUrl: true,
}

const memberNames: Record<keyof RoutePrice, true> = {
  price: true,
  pricing: true,
  schemes: true,
  payTo: true,
  network: true,
  maxTimeoutSeconds: true,
  description: true,
  mimeType: true,
  streaming: true,
  maxHeldBytes: true,
  discoverable: true,
  example: true,
  inputSchema: true,
  outputExample: true,
}

/** Options of Fastify itself, which it passes on to each plugin. */
const optionsOfFastify = ['prefix', 'logLevel', 'logSerializers']

/** Throws for an option that the plugin does not know, and for a facilitator that is missing. */
export function checkOptionNames(options: X402Options): void {
  const names = Object.keys(options).filter((name) => !optionsOfFastify.includes(name))
  const unknown = names.find((name) => !Object.hasOwn(optionNames, name))
  if (unknown !== undefined) throw new Error(`x402: there is no option "${unknown}".`)
  if (options.facilitator === undefined) {
    throw new Error('x402: facilitator is missing: the base URL of a facilitator, or a client.')
  }
}

/** Throws for a member that the price of a route does not have. */
export function checkMemberNames(price: object): void {
  const isMoney = 'amount' in price || 'asset' in price
  const unknown = isMoney
    ? Object.keys(price).find((name) => !['amount', 'asset', 'extra'].includes(name))
    : Object.keys(price).find((name) => !Object.hasOwn(memberNames, name))
  if (unknown !== undefined) throw new Error(`there is no member "${unknown}" in a price`)
  if (!isMoney && !('price' in price)) throw new Error('price is missing')
}

/** Warns of a facilitator that buyers of these routes cannot pay through. The server runs on: it may be started later. */
export async function warnOfFacilitator(
  facilitator: FacilitatorClient,
  accepts: readonly PaymentRequirements[],
  log: FastifyBaseLogger,
): Promise<void> {
  try {
    const { kinds } = await facilitator.getSupported()
    const isSettled = (asked: PaymentRequirements) =>
      kinds.some(({ network, scheme }) => network === asked.network && scheme === asked.scheme)
    const networks = new Set(accepts.map(({ network }) => network))
    for (const network of networks) {
      const asked = accepts.filter((it) => it.network === network)
      if (asked.some(isSettled)) continue
      log.warn(
        `x402: the facilitator settles no payment on ${network} that is asked for here: each paid call there will be refused.`,
      )
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.warn(`x402: the facilitator does not answer, so paid calls will get 502: ${reason}`)
  }
}
