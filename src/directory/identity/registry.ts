import type { Address } from 'viem'
import { readBlock } from '../../chain/blocks.js'
import {
  type Agent,
  type AgentChanges,
  readAgent,
  readAgentChanges,
  readRegistryVersion,
} from '../../chain/identity-registry.js'
import type { Rpc } from '../../chain/rpc.js'

/** The only chain whose registry is read: the specification has identities on the mainnet only. */
export const IDENTITY_NETWORK = 'eip155:5042'

/** The major version whose calls are known. */
const KNOWN_VERSION = /^2\./
/** Blocks that the first read of events goes back: about five and a half hours at two blocks a second. */
const LOOK_BACK_BLOCKS = 40_000

interface IdentityRegistryOptions {
  /** A node of `eip155:5042`; `undefined` where that network is not served. */
  rpc: Rpc | undefined
  registry: Address
}

export type IdentityRegistry = ReturnType<typeof createIdentityRegistry>

/** Creates the reads of the ERC-8004 identity registry. They throw `RpcUnavailableError` while the node fails. */
export function createIdentityRegistry({ rpc, registry: address }: IdentityRegistryOptions) {
  let isServed: boolean | undefined
  let nextBlock: number | undefined

  async function refresh() {
    const version = rpc === undefined ? undefined : await readRegistryVersion(rpc, address)
    isServed = version !== undefined && KNOWN_VERSION.test(version)
    return { isServed, version }
  }

  return {
    address,
    /** CAIP-10, as registration files name it. */
    name: `${IDENTITY_NETWORK}:${address}`,
    /** Returns whether the last `refresh` found a registry of a known version; refreshes first if none ran yet. */
    isServed: async (): Promise<boolean> => isServed ?? (await refresh()).isServed,
    /** Reads whether the registry is there. If that fails, the earlier result is kept. */
    refresh,
    /** `undefined` when no agent has this id. */
    readAgent: (agentId: string, spender: Address): Promise<Agent | undefined> =>
      readAgent(required(rpc), address, BigInt(agentId), spender),
    /**
     * Reads the changes since the last call. The first call looks back some hours, as does one after a longer silence; the
     * daily recheck finds older changes. After a failure the next call starts at the same block.
     */
    async readChanges(): Promise<AgentChanges> {
      const to = (await readBlock(required(rpc), 'latest'))?.number ?? -1
      const from = Math.max(nextBlock ?? 0, to - LOOK_BACK_BLOCKS + 1, 0)
      const changes = await readAgentChanges(required(rpc), address, { from, to })
      nextBlock = Math.max(from, to + 1)
      return changes
    },
  }
}

function required(rpc: Rpc | undefined): Rpc {
  if (rpc === undefined) throw new Error(`there is no node of ${IDENTITY_NETWORK} to ask`)
  return rpc
}
