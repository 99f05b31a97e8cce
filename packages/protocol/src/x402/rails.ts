import { memberOf } from './json.js'

/*
 * Sellers offer other rails under the scheme `exact`: the same asset, payTo and amount, signed for another contract. The
 * console and the client package use this too, so nothing here may need Node.
 */

/** The wallets of Circle Gateway, on main networks and on test networks; lower-case. */
const gatewayWallets: readonly string[] = [
  '0x77777777dcc4d5a8b6e418fd04d8997ef11000ee',
  '0x0077777d7eba4688bdef3e311b846f25870a19b9',
]
/** The EIP-712 name under which Circle Gateway is offered. */
const GATEWAY_NAME = 'GatewayWalletBatched'
const GATEWAY = 'Circle Gateway'

/**
 * Names the rail of a requirement whose `extra` wants the signature for another contract than the asset; `undefined` for a
 * plain requirement. Takes what a stranger wrote. The name is safe to show.
 */
export function otherRailOf(asset: unknown, extra: unknown): string | undefined {
  const contract = memberOf(extra, 'verifyingContract') ?? ''
  if (contract === '') return memberOf(extra, 'name') === GATEWAY_NAME ? GATEWAY : undefined
  if (typeof contract !== 'string') return 'another contract'
  const wanted = contract.toLowerCase()
  if (typeof asset === 'string' && wanted === asset.toLowerCase()) return undefined
  if (gatewayWallets.includes(wanted)) return GATEWAY
  return /^0x[0-9a-f]{40}$/.test(wanted) ? `the contract ${contract}` : 'another contract'
}

/** Says of a requirement that it belongs to another rail; follows "is". */
export function paidThrough(rail: string): string {
  return `paid through ${rail}, not settled here`
}
