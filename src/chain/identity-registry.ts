import { zeroAddress } from '@arcus/protocol/x402/address'
import { type Address, type Hex, parseAbi, toEventSelector } from 'viem'
import { addressOf } from './abi.js'
import { answered, asked, createChainClient, unlessReverted } from './client.js'
import { type BlockRange, readLogs } from './receipts.js'
import type { Rpc } from './rpc.js'

const abi = parseAbi([
  'function getVersion() view returns (string)',
  'function isAuthorizedOrOwner(address spender, uint256 agentId) view returns (bool)',
  'function ownerOf(uint256 agentId) view returns (address)',
  'function getAgentWallet(uint256 agentId) view returns (address)',
  'function tokenURI(uint256 agentId) view returns (string)',
])

/** The events that may change a check, each with the topic that holds the agent's id. */
const agentTopics = new Map<Hex, number>([
  [toEventSelector('Transfer(address,address,uint256)'), 3],
  [toEventSelector('Approval(address,address,uint256)'), 3],
  [toEventSelector('MetadataSet(uint256,string,string,bytes)'), 1],
  [toEventSelector('URIUpdated(uint256,string,address)'), 1],
])
const approvalForAll = toEventSelector('ApprovalForAll(address,address,bool)')
const OPERATOR_TOPIC = 2

/** Room for a base64 `data:` URI of 64 KiB; a longer text is no longer the name of a file. */
const MAX_URI_BYTES = 96 * 1024
const READ_TIMEOUT_MS = 5_000
/** What an error names. */
const WHAT = 'the identity registry'

/** An ERC-8004 agent as the registry knows it. */
export interface Agent {
  owner: Address
  /** True when the asked address owns the agent or may act for it. */
  isAuthorized: boolean
  /** The address that the agent is paid at; the zero address while none is set. */
  wallet: Address
  /** Empty while none is set; `null` when it is longer than 96 KiB. */
  uri: string | null
}

/** The agents and operators that the events of a range of blocks are about. */
export interface AgentChanges {
  agentIds: Set<string>
  /** Lower case. */
  operators: Set<Address>
}

/** Reads the registry's version; `undefined` when there is no ERC-8004 registry at the address. Throws `RpcUnavailableError`. */
export async function readRegistryVersion(
  rpc: Rpc,
  registry: Address,
): Promise<string | undefined> {
  const client = createChainClient(rpc)
  const version = client.readContract({ address: registry, abi, functionName: 'getVersion' })
  const [code, text] = await Promise.all([
    asked(client.getCode({ address: registry }), WHAT),
    answered(version, WHAT),
  ])
  return code === undefined ? undefined : text
}

/**
 * Reads an agent and whether `spender` may act for it, in one round trip; `undefined` when no agent has this id.
 * Throws `RpcUnavailableError`.
 */
export async function readAgent(
  rpc: Rpc,
  registry: Address,
  agentId: bigint,
  spender: Address,
): Promise<Agent | undefined> {
  const client = createChainClient(rpc, { timeoutMs: READ_TIMEOUT_MS })
  const args = [agentId] as const
  const at = { address: registry, abi, args } as const
  const [owner, isAuthorized, wallet, uri] = await Promise.all([
    unlessReverted(client.readContract({ ...at, functionName: 'ownerOf' }), WHAT),
    unlessReverted(
      client.readContract({ ...at, functionName: 'isAuthorizedOrOwner', args: [spender, agentId] }),
      WHAT,
    ),
    unlessReverted(client.readContract({ ...at, functionName: 'getAgentWallet' }), WHAT),
    unlessReverted(client.readContract({ ...at, functionName: 'tokenURI' }), WHAT),
  ])
  if (owner === undefined) return undefined
  const isTooLong = Buffer.byteLength(uri ?? '') > MAX_URI_BYTES
  return {
    owner,
    isAuthorized: isAuthorized ?? false,
    wallet: wallet ?? zeroAddress,
    uri: isTooLong ? null : (uri ?? ''),
  }
}

/** Reads which agents and operators the events of these blocks are about. Throws as `readLogs`. */
export async function readAgentChanges(
  rpc: Rpc,
  registry: Address,
  blocks: BlockRange,
): Promise<AgentChanges> {
  const filter = { address: registry, topics: [[...agentTopics.keys(), approvalForAll]] }
  const changes: AgentChanges = { agentIds: new Set(), operators: new Set() }
  for await (const log of readLogs(rpc, filter, blocks, { timeoutMs: READ_TIMEOUT_MS })) {
    const { topics } = log
    const [event = '0x'] = topics
    const idAt = agentTopics.get(event)
    const id = idAt === undefined ? undefined : topics[idAt]
    if (id !== undefined) changes.agentIds.add(BigInt(id).toString())
    const operator = event === approvalForAll ? topics[OPERATOR_TOPIC] : undefined
    if (operator !== undefined) changes.operators.add(addressOf(operator))
  }
  return changes
}
