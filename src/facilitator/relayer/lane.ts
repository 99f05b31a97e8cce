import type { Address, Hex } from 'viem'
import { readGasMoney } from '../../chain/accounts.js'
import { readReceipts } from '../../chain/receipts.js'
import { laneLease } from '../../sql/leases.js'
import type { Fees } from './gas.js'
import type { TrackedJob } from './jobs.js'
import { repairStuck, takeGap } from './repairs.js'
import {
  alignNonce,
  closedBy,
  type LaneOptions,
  type LaneState,
  mayWork,
  openAt,
  send,
} from './sending.js'
import { type WatchedSigner, watchSigner } from './signer.js'
import { openedAt, restoreSlot, type Slot, type SlotCall } from './slot.js'

/** One relayer wallet on one network: its nonces, its transactions in flight, and their repair. */
export interface Lane {
  address: Address
  /** Returns why the lane takes no payments now; `undefined` while it does. */
  closedBecause(): string | undefined
  inFlight(): number
  /** Returns the jobs of each transaction under way. */
  carried(): TrackedJob[][]
  /** Returns whether a block may hold a transaction that somebody waits for. */
  isAwaited(): boolean
  /** True while the dispatcher prepares and signs a transaction: nonces of one wallet are signed one after another. */
  isSigning: boolean
  /** Set while its lease is about to be given up: it takes nothing new. */
  isLeaving: boolean
  /** Returns whether this process holds the wallet now, and has resumed its transactions. */
  isHeld(): boolean
  /** Returns where the wallet's lease is held, as far as this process knows. */
  holder(): 'here' | 'elsewhere' | 'nobody'
  /** Returns the epoch of the lease under which the lane was resumed. */
  epoch(): number | undefined
  /** Reads the gas money of an idle wallet, 18-decimal units; `undefined` where sending will show it. Never rejects. */
  readBalance(): Promise<bigint | undefined>
  /**
   * Signs, keeps and sends. Rejects only when nothing was kept, so nothing was sent: also for a balance that cannot pay,
   * which closes the lane.
   */
  open(call: SlotCall, jobIds: string[], fees: Fees, balance?: bigint): Promise<void>
  /** Closes an idle lane whose wallet cannot pay; for a wallet with transactions under way, the nodes refuse those. */
  closeIdle(): void
  holds(hash: Hex): boolean
  /** Repairs what is stuck; runs twice a second. */
  tick(): Promise<void>
  /** Resumes the transactions that an earlier process left, under the lease of this epoch. */
  resume(epoch: number): Promise<void>
  /** Forgets everything, because another process holds the wallet. Returns the slots that were open. */
  drop(): Slot[]
  /** Returns the age of the oldest open slot in milliseconds, 0 when there is none. */
  pendingMs(): number
}

/** Returns why no process sends with the wallet, as far as this one knows; `undefined` while one does. */
export function closedAnywhere(lane: Pick<Lane, 'closedBecause' | 'holder'>): string | undefined {
  return lane.holder() === 'nobody' ? 'no replica holds its lease' : lane.closedBecause()
}

export function createLane(options: LaneOptions): Lane {
  const { network, rpc, slots, examiner, log } = options
  // Waits are measured by a clock that nobody sets: one that was set back would end all repairs for as long.
  const now = () => performance.now()
  const signer = watchForLane(options)
  const lane: LaneState = {
    ...options,
    now,
    signer,
    epoch: undefined,
    isReady: false,
    closed: undefined,
    sending: Promise.resolve(),
    isTicking: false,
    gaps: [],
    next: undefined,
    asideCheckedAt: Number.NEGATIVE_INFINITY,
    reopeningCheckedAt: Number.NEGATIVE_INFINITY,
  }

  function closeIdle(): void {
    if (!lane.isReady || lane.closed !== undefined || slots.open().length > 0) return
    lane.closed = closedBy.balance
    log.warn({ relayer: signer.address, reason: lane.closed }, 'lane closed')
  }

  return {
    address: signer.address,
    isSigning: false,
    isLeaving: false,
    isHeld: () => lane.isReady && mayWork(lane),
    holder: () => lane.leases.holder(laneLease(network, signer.address)),
    epoch: () => lane.epoch,
    closedBecause: () => lane.closed ?? signer.failure(),
    inFlight: () => slots.open().length,
    carried: () => slots.open().map(({ jobIds }) => lane.jobs.findAll(jobIds)),
    isAwaited: () => awaited(lane).length > 0,
    async readBalance() {
      if (slots.open().length > 0) return undefined
      return readGasMoney(rpc, signer.address).catch(() => undefined)
    },
    open(call, jobIds, fees, balance) {
      if (balance !== undefined && balance < call.gasLimit * fees.maxFeePerGas) {
        closeIdle()
        return Promise.reject(new Error(`${signer.address} cannot pay for the transaction`))
      }
      return openAt(lane, takeGap(lane) ?? slots.nextNonce, call, jobIds, fees)
    },
    closeIdle,
    holds: (hash) => slots.find(hash) !== undefined,
    async tick() {
      if (!mayWork(lane)) return
      signer.tryAgain()
      if (lane.isTicking || !lane.isReady) return
      lane.isTicking = true
      try {
        await repairStuck(lane)
      } finally {
        lane.isTicking = false
      }
    },
    async resume(epoch) {
      lane.epoch = epoch
      const attempts = await lane.journal.openAttempts(network, signer.address)
      for (const nonce of new Set(attempts.map(({ relayerNonce }) => relayerNonce))) {
        const same = attempts.filter(({ relayerNonce }) => relayerNonce === nonce)
        const slot = restoreSlot(same, epoch, now())
        slots.add(slot)
        const hashes = same.map(({ hash }) => hash)
        for (const id of slot.jobIds) lane.jobs.hold(id, hashes)
      }
      await alignNonce(lane, epoch)
      const receipts = await readReceipts(
        rpc,
        attempts.map(({ hash }) => hash),
      )
      for (const receipt of receipts) examiner.land(receipt)
      lane.isReady = true
      signer.tryEarly()
      for (const slot of slots.open()) void send(lane, slot)
    },
    drop() {
      const left = slots.open()
      slots.clear()
      lane.isReady = false
      lane.epoch = undefined
      lane.closed = undefined
      signer.reset()
      this.isLeaving = false
      return left
    },
    pendingMs() {
      const opened = awaited(lane).map(openedAt)
      return opened.length === 0 ? 0 : lane.leases.now() - Math.min(...opened)
    },
  }
}

/** Watches the signer: one that fails closes the lane until it signs again. What was sent before stays under way. */
function watchForLane({ signer, chainId, queue, now, log }: LaneOptions): WatchedSigner {
  const relayer = signer.address
  return watchSigner(signer, {
    chainId,
    now,
    onFailure: (reason, err) => log.warn({ relayer, reason, err }, 'lane closed'),
    onRecovery() {
      log.info({ relayer }, 'lane open again')
      queue.noteChange()
    },
  })
}

/** Returns the slots that keep somebody waiting: not those of a closed lane that carry no job. */
function awaited({ slots, closed }: LaneState): Slot[] {
  return slots.open().filter(({ jobIds }) => jobIds.size > 0 || closed === undefined)
}
