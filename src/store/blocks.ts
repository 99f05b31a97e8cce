import type { Address } from 'viem'

/** Whom the operator refuses: as the one who pays, or as the one who is paid. */
export interface Block {
  role: 'payer' | 'payTo'
  /** Lower-case. */
  address: Address
  /** The operator's own words, for himself. */
  reason: string
  /** Unix milliseconds. */
  createdAt: number
}

export interface BlockStore {
  addBlock(block: Block): Promise<void>
  /** Whether there was one. */
  removeBlock(role: Block['role'], address: Address): Promise<boolean>
  listBlocks(): Promise<Block[]>
}
