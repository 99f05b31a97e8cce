import type { Address } from 'viem'
import { asQuantity, parseQuantity } from './parse-quantity.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/**
 * How many transactions of the account are on chain, by the node that has seen most: a lower count is an old one.
 * Throws `RpcUnavailableError`.
 */
export async function readTransactionCount(rpc: Rpc, address: Address): Promise<number> {
  const answers = await rpc.everywhere('eth_getTransactionCount', [address, 'latest'])
  const counts = answers.flatMap((answer) => {
    const count = answer.ok ? asQuantity(answer.value) : undefined
    return count === undefined ? [] : [Number(count)]
  })
  if (counts.length > 0) return Math.max(...counts)
  throw new RpcUnavailableError('no chain node could tell a transaction count')
}

/** What the account can pay for gas, 18-decimal units. Throws `RpcUnavailableError`. */
export async function readGasMoney(rpc: Rpc, address: Address): Promise<bigint> {
  return parseQuantity(await rpc.request('eth_getBalance', [address, 'latest']))
}
