import { isSameAddress } from '@arcus/protocol/x402/address'
import { createPublicClient, type Hex, http, parseAbi, parseEventLogs } from 'viem'
import { findStablecoin } from './price.js'
import type { RefundablePayment } from './refunds.js'

const events = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

/**
 * Reads the payments by EIP-3009, in USDC or EURC, that a transaction moved to an address. Rejects where the node does not
 * know the transaction, or is on another network.
 */
export async function readPaidTransaction(
  rpcUrl: string,
  hash: Hex,
  { network, payTo }: Pick<RefundablePayment, 'network' | 'payTo'>,
): Promise<RefundablePayment[]> {
  const node = createPublicClient({ transport: http(rpcUrl) })
  const chainId = await node.getChainId()
  if (`eip155:${chainId}` !== network) throw new Error(`The node of --rpc is not on ${network}.`)
  const { status, logs } = await node.getTransactionReceipt({ hash })
  if (status !== 'success') throw new Error('The transaction failed, so nothing was paid by it.')
  const all = parseEventLogs({ abi: events, logs })
  return all.flatMap((use, index) => {
    const asset = use.address
    if (use.eventName !== 'AuthorizationUsed' || !findStablecoin(asset, network)) return []
    // A token logs the use and the transfer that it allows one directly after the other.
    const moved = all.slice(index + 1).find((log) => log.address === asset)
    if (moved?.eventName !== 'Transfer') return []
    const { from: payer, to, value } = moved.args
    if (!isSameAddress(payer, use.args.authorizer) || !isSameAddress(to, payTo)) return []
    return [{ network, asset, payer, payTo, amount: String(value), nonce: use.args.nonce }]
  })
}
