import { parseUrl } from '@arcus/protocol/x402/parse-url'
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements } from '@x402/core/types'
import type { FastifyBaseLogger } from 'fastify'
import type { RoutePrice, WayToPay, X402Options } from './options.js'

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
  extensions: true,
  facilitatorTimeoutMs: true,
  serviceName: true,
  tags: true,
  iconUrl: true,
}

const memberNames: Record<keyof RoutePrice, true> = {
  price: true,
  accepts: true,
  pricing: true,
  schemes: true,
  payTo: true,
  network: true,
  maxTimeoutSeconds: true,
  description: true,
  mimeType: true,
  streaming: true,
  maxHeldBytes: true,
  extensions: true,
  discoverable: true,
  example: true,
  inputSchema: true,
  outputExample: true,
}

const wayNames: Record<keyof WayToPay, true> = {
  network: true,
  price: true,
  payTo: true,
  facilitator: true,
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
  if (isMoney) return
  if ('bazaar' in ((price as RoutePrice).extensions ?? {})) {
    throw new Error('the extension bazaar is declared by the plugin itself')
  }
  const { price: own, accepts, payTo, network, schemes } = price as RoutePrice
  if (own === undefined && accepts === undefined) throw new Error('price is missing')
  if (accepts === undefined) return
  const other = Object.entries({ price: own, payTo, network, schemes }).find(([, it]) => it)
  if (other !== undefined)
    throw new Error(`accepts takes the place of ${other[0]}, give one of them`)
  if (!Array.isArray(accepts) || accepts.length === 0) throw new Error('accepts names a way to pay')
  for (const way of accepts) {
    const name = Object.keys(way ?? {}).find((it) => !Object.hasOwn(wayNames, it))
    if (name !== undefined) throw new Error(`there is no member "${name}" in a way to pay`)
  }
}

/** Throws for a text that is no address of a server. */
export function httpUrl(name: string, text: string): URL {
  const url = parseUrl(text)
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  throw new Error(`${name} must be an http or https URL, got "${text}"`)
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
