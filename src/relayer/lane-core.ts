import type { Address, Hex } from 'viem'
import type { BlockFeed } from '../chain/block-feed.js'
import type { Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import type { SendProblem } from '../chain/send-errors.js'
import type { GasBearer } from '../store/budgets.js'
import type { Attempt, SettlementJournal } from '../store/settlement-journal.js'
import type { Keccak256 } from '../x402/keccak.js'
import type { Fees } from './fees.js'
import type { LaneSlots } from './lane-slots.js'
import type { Signer } from './signer.js'
import type { Slot } from './slot.js'

/** A transaction that only fills its slot. */
export const NO_OP_GAS = 21_000n

/** Why a lane takes no payments, in the words of `/ready`. */
export const closedBy = { purse: 'no gas money', block: 'blocked by the chain' } as const

export interface SlotCall {
  to: Address
  data: Hex
  gasLimit: bigint
}

/** Keeps what is signed within the budgets of gas. */
export interface LaneGate {
  /** Looks anew whether these may be signed together once more. Throws `RpcUnavailableError`. */
  maySignAgain(jobIds: readonly string[]): Promise<boolean>
  bearersOf(jobIds: readonly string[], gasLimit: bigint, fees: Fees): GasBearer[]
  /** How far above the base fee the ceiling is set, in percent. */
  headroomFor(jobIds: readonly string[]): bigint
}

export interface LaneOptions {
  network: string
  chainId: number
  signer: Signer
  rpc: Rpc
  feed: BlockFeed
  journal: SettlementJournal
  maxFeePerGas: bigint
  keccak256: Keccak256
  /** Unix milliseconds. */
  now: () => number
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
  /** A transaction is signed and kept, about to be sent. */
  onSigned(attempt: Attempt): void
  /** One of the slot's transactions was mined. */
  onLanded(slot: Slot, attempt: Attempt, receipt: Receipt): void
  /** The nonce went to a transaction that is not ours. */
  onLost(slot: Slot): void
  /** The node took no transaction of the slot. */
  onRefused(slot: Slot): void
  /** A node took this transaction, or has it. */
  onTaken(attempt: Attempt): void
  /** Every node refused this transaction, each in so many words: none has it. */
  onUntaken(attempt: Attempt): Promise<void>
  isUndecided(jobId: string): boolean
  /** What may be signed with these jobs. */
  gate: LaneGate
  /** The epoch under which this process may work for the wallet now; `undefined` while it may not. */
  heldEpoch(): number | undefined
}

/** What watchdog and repairs may do to a lane. */
export interface LaneCore extends LaneOptions {
  slots: LaneSlots
  /** Of the lease under which its slots were taken up; `undefined` while another process has the wallet. */
  epoch: number | undefined
  /** Why the lane takes no payments. */
  closed: string | undefined
  nextNonce: number
  openAt(nonce: number, call: SlotCall, jobIds: string[], fees: Fees): Promise<void>
  /** Sends the newest of the slot, and repairs what the node says against it. */
  send(slot: Slot): Promise<void>
  /** Sends it once; what the node says against it is only told. */
  offer(slot: Slot): Promise<SendProblem | undefined>
  /** Signs the slot again with both fee fields up; every earlier hash stays known, any may land. */
  replace(slot: Slot): Promise<void>
  /** Closes the slot without a receipt. */
  forget(slot: Slot): Promise<void>
  land(receipt: Receipt): boolean
  readChainNonce(): Promise<number>
}
