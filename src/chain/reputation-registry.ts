import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { answered, createChainClient } from './client.js'
import type { Rpc } from './rpc.js'

const abi = parseAbi([
  'function getIdentityRegistry() view returns (address)',
  'function giveFeedback(uint256 agentId, int128 value, uint8 valueDecimals, string tag1, string tag2, string endpoint, string feedbackURI, bytes32 feedbackHash)',
])

/** The tag of ERC-8004 for a rating of quality, 0 to 100. */
export const QUALITY_TAG = 'starred'

interface Feedback {
  agentId: bigint
  score: number
  tag: string
  endpoint: string
  uri: string
  hash: Hex
}

/**
 * Returns the call of the ERC-8004 reputation registry that gives feedback. The registry keeps the sender as the client
 * and refuses the owner and the operators of the agent.
 */
export function encodeFeedback({ agentId, score, tag, endpoint, uri, hash }: Feedback): Hex {
  const args = [agentId, BigInt(score), 0, QUALITY_TAG, tag, endpoint, uri, hash] as const
  return encodeFunctionData({ abi, functionName: 'giveFeedback', args })
}

/**
 * Reads the identity registry that a reputation registry knows (lower case); `undefined` when there is no such contract.
 * Throws `RpcUnavailableError`.
 */
export async function readIdentityRegistryOf(
  rpc: Rpc,
  registry: Address,
): Promise<Address | undefined> {
  const call = { address: registry, abi, functionName: 'getIdentityRegistry' } as const
  const read = createChainClient(rpc).readContract(call)
  const address = await answered(read, 'the reputation registry')
  return address?.toLowerCase() as Address | undefined
}
