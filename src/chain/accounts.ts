import type { Address } from 'viem'
import { parseQuantity } from './parse-quantity.js'
import type { Rpc } from './rpc.js'

/** How many transactions of the account are on chain. Throws `RpcUnavailableError`. */
export async function readTransactionCount(rpc: Rpc, address: Address): Promise<number> {
  return Number(parseQuantity(await rpc.request('eth_getTransactionCount', [address, 'latest'])))
}

/** What the account can pay for gas, 18-decimal units. Throws `RpcUnavailableError`. */
export async function readGasMoney(rpc: Rpc, address: Address): Promise<bigint> {
  return parseQuantity(await rpc.request('eth_getBalance', [address, 'latest']))
}
