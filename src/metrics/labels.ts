import { isNetwork } from '../x402/networks.js'
import { reasons } from '../x402/reasons.js'

const codes = new Set<string>(Object.values(reasons).map(({ code }) => code))

/** A network this software knows, or `other`: callers must not be able to make new time series. */
export function networkLabel(network: unknown): string {
  return typeof network === 'string' && isNetwork(network) ? network : 'other'
}

/** A code of the reasons table, or `other`. */
export function reasonLabel(code: string | null | undefined): string {
  return typeof code === 'string' && codes.has(code) ? code : 'other'
}
