import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import type { Address } from 'viem'
import type { ReadCoded } from '../../chain/accounts.js'
import type { BlockFeed } from '../../chain/blocks.js'
import type { Rpc } from '../../chain/rpc.js'
import type { LeaseKeeper } from '../../sql/lease-keeper.js'
import type { JobSharing, SettlementJournal } from '../journal/settlement-journal.js'

/** The network on which a relayer works, and its settings. Each part of the relayer takes the members that it needs. */
export interface RelayerContext {
  network: string
  chainId: number
  rpc: Rpc
  feed: BlockFeed
  journal: SettlementJournal
  sharing: JobSharing
  leases: LeaseKeeper
  readCoded: ReadCoded
  hasMulticall3: boolean
  /** Returns the multicall of the relayers, which skips what can only fail; `undefined` while it cannot be used by all of them. */
  guard: () => Address | undefined
  maxBatch: number
  /** 18-decimal units per gas. */
  maxFeePerGas: bigint
  keccak256: Keccak256
  /** Unix milliseconds. */
  now: () => number
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}
