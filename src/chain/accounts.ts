import type { Address } from 'viem'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/** How many transactions of the account are on chain. Throws `RpcUnavailableError`. */
export async function readTransactionCount(rpc: Rpc, address: Address): Promise<number> {
  return Number(parseQuantity(await rpc.request('eth_getTransactionCount', [address, 'latest'])))
}

/** What the account can pay for gas, 18-decimal units. Throws `RpcUnavailableError`. */
export async function readGasMoney(rpc: Rpc, address: Address): Promise<bigint> {
  return parseQuantity(await rpc.request('eth_getBalance', [address, 'latest']))
}

/** What is no number must never pass for one: nonces are counted on from it. */
function parseQuantity(value: unknown): bigint {
  if (typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value)) return BigInt(value)
  throw new RpcUnavailableError('the chain node answered no number where one was asked for')
}
