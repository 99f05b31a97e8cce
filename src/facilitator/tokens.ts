import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import type { Rpc } from '../chain/rpc.js'
import { readToken } from '../chain/token.js'
import type { AcceptedToken } from './methods/network.js'
import {
  type FacilitatorSettings,
  FacilitatorSettingsError,
  type NetworkSettings,
} from './settings.js'

/**
 * Reads and pins each token of a network, with its minimum. People could not distinguish two with one symbol. Throws
 * `FacilitatorSettingsError`, `TokenMismatchError`, `RpcUnavailableError`.
 */
export async function readTokens(
  rpc: Rpc,
  keccak256: Keccak256,
  place: Pick<NetworkSettings, 'network' | 'chainId' | 'assets'>,
  { least, bySymbol }: FacilitatorSettings['minAmount'],
): Promise<[AcceptedToken, ...AcceptedToken[]]> {
  const read = await Promise.all(
    place.assets.map((asset) => readToken(rpc, keccak256, { ...place, asset })),
  )
  const symbols = read.map(({ symbol }) => symbol)
  const twin = symbols.find((symbol, i) => symbols.indexOf(symbol) < i)
  if (twin !== undefined) {
    throw new FacilitatorSettingsError(
      `Two assets of ${place.network} have the symbol ${twin}: name one.`,
    )
  }
  const tokens = read.map((token) => ({ ...token, minAmount: bySymbol[token.symbol] ?? least }))
  return tokens as [AcceptedToken, ...AcceptedToken[]]
}
