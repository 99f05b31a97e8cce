import type { Address, Hex } from 'viem'
import { readGasMoney, readTransactionCount } from '../chain/accounts.js'
import { type Receipt, readReceipts } from '../chain/receipts.js'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import { classifySendError, type SendProblem } from '../chain/send-errors.js'
import { GasBudgetError } from '../store/budgets.js'
import { LeaseLostError } from '../store/leases.js'
import type { Attempt } from '../store/settlement-journal.js'
import { bumpFees, type Fees } from './fees.js'
import { closedBy, type LaneCore, type LaneOptions, NO_OP_GAS, type SlotCall } from './lane-core.js'
import { createLaneSlots } from './lane-slots.js'
import { createSendRepairs } from './send-repairs.js'
import { createSigning } from './signing.js'
import { newestAttempt, newSlot, restoreSlot, type Slot } from './slot.js'
import { createWatchdog } from './watchdog.js'

export interface Lane {
  address: Address
  /** Why it takes no payments at present; `undefined` while it does. */
  closedBecause(): string | undefined
  inFlight(): number
  /** Nonces of one wallet are signed one after another; true while one is. */
  isSigning: boolean
  /** Its lease is about to be given up: it takes nothing new. */
  isLeaving: boolean
  /** Whether this process works for the wallet at this moment, and has taken up what it left. */
  isHeld(): boolean
  /** The epoch of the lease under which it was taken up. */
  epoch(): number | undefined
  /** What an idle wallet holds for gas, 18-decimal units; `undefined` where sending will tell. Never rejects. */
  readPurse(): Promise<bigint | undefined>
  /**
   * Signs, keeps and sends. Rejects only when nothing was kept, so nothing was sent: also for a purse that cannot pay,
   * which closes the lane.
   */
  open(call: SlotCall, jobIds: string[], fees: Fees, purse?: bigint): Promise<void>
  /** Takes no payments while its wallet cannot pay; one with transactions under way hears of it from the nodes. */
  closeIdle(): void
  holds(hash: Hex): boolean
  /** Closes the slot of this receipt, if it is one of this lane's; whether it was. */
  land(receipt: Receipt): boolean
  /** Repairs what is stuck; run twice a second. */
  tick(): Promise<void>
  /** Takes up what an earlier process left, under the lease of this epoch. */
  resume(epoch: number): Promise<void>
  /** Lets go of everything: another process works for the wallet. Gives the slots that were open. */
  drop(): Slot[]
  /** The oldest open slot's age in milliseconds, 0 when there is none. */
  pendingMs(): number
}

const SEND_TIMEOUT_MS = 5_000
/** Refusals after which nobody may have the transaction; the others have a repair that sends another at once. */
const mayBeAlone = new Set<SendProblem>([
  'insufficientFunds',
  'senderBlocked',
  'gasAboveLimit',
  'unknown',
])
const NOT_TAKEN = 'the chain node answered something else than the hash of what it was sent'

/** One relayer wallet on one network: its nonces, its transactions in flight, and their repair. */
export function createLane(options: LaneOptions): Lane {
  const { network, signer, rpc, feed, journal, now, log } = options
  const slots = createLaneSlots()
  const core: LaneCore = {
    ...options,
    slots,
    epoch: undefined,
    closed: undefined,
    nextNonce: 0,
    openAt,
    send,
    offer,
    replace,
    forget,
    land,
    readChainNonce: () => readTransactionCount(rpc, signer.address),
  }
  const sign = createSigning(core, requireEpoch)
  const watchdog = createWatchdog(core)
  const repairs = createSendRepairs(core, watchdog)
  /** Sends of one wallet go out one after another, so that a node sees its nonces in order. */
  let sending: Promise<void> = Promise.resolve()
  let isTicking = false
  let isReady = false

  /** Whether what was begun under this epoch may still be sent. */
  const mayWork = (epoch = core.epoch) =>
    epoch !== undefined && core.epoch === epoch && options.heldEpoch() === epoch

  function requireEpoch(): number {
    if (core.epoch === undefined || !mayWork()) {
      throw new LeaseLostError(`another process works for ${signer.address}, or may by now`)
    }
    return core.epoch
  }

  function send(slot: Slot): Promise<void> {
    sending = sending.then(async () => {
      if (!slots.isOpen(slot) || core.closed !== undefined) return
      if (!mayWork(slot.epoch)) return
      const { hash } = newestAttempt(slot)
      let refusal: unknown
      let problem = await offer(slot, (problem, err) => {
        refusal = err
        const settlementIds = [...slot.jobIds]
        log.warn({ settlementIds, hash, relayerNonce: slot.nonce, problem, err }, 'send refused')
      })
      const isRefused = refusal instanceof RpcResponseError
      if (problem && isRefused && mayBeAlone.has(problem) && (await isTakenAnywhere(slot))) {
        problem = undefined
      }
      // A repair that fails is left to the watchdog: the signed bytes are kept.
      if (problem && slots.isOpen(slot)) {
        await repairs[problem](slot).catch((err) => log.warn({ err }, 'repair failed'))
      }
      feed.poke()
    })
    return sending
  }

  async function offer(
    slot: Slot,
    onRefusal: (problem: SendProblem, err: unknown) => void = () => {},
  ): Promise<SendProblem | undefined> {
    slot.touchedAt = now()
    const { hash, rawTransaction } = newestAttempt(slot)
    try {
      const timeoutMs = SEND_TIMEOUT_MS
      const answer = await rpc.request('eth_sendRawTransaction', [rawTransaction], { timeoutMs })
      if (String(answer).toLowerCase() !== hash) throw new RpcUnavailableError(NOT_TAKEN)
    } catch (err) {
      const problem = classifySendError(err)
      if (problem !== 'alreadyKnown') {
        onRefusal(problem, err)
        return problem
      }
    }
    slot.refusals = 0
    options.onTaken(newestAttempt(slot))
    return undefined
  }

  /** One node refused it; whether another takes it. What each of them refuses is nowhere. */
  async function isTakenAnywhere(slot: Slot): Promise<boolean> {
    const attempt = newestAttempt(slot)
    const timeoutMs = SEND_TIMEOUT_MS
    const answers = await rpc.everywhere('eth_sendRawTransaction', [attempt.rawTransaction], {
      timeoutMs,
    })
    const problems = answers.map((answer) =>
      answer.ok ? 'alreadyKnown' : classifySendError(answer.error),
    )
    if (problems.includes('alreadyKnown')) {
      options.onTaken(attempt)
      return true
    }
    const isNowhere = answers.every(
      (answer, i) =>
        !answer.ok && answer.error instanceof RpcResponseError && problems[i] !== 'nonceTooLow',
    )
    if (isNowhere) await options.onUntaken(attempt)
    return false
  }

  async function replace(slot: Slot): Promise<void> {
    const base = feed.latest()?.baseFeePerGas ?? 0n
    const jobIds = slot.isGivenUp ? [] : [...slot.jobIds].filter(options.isUndecided)
    const isCarried = jobIds.length > 0 && (await options.gate.maySignAgain(jobIds))
    const headroom = options.gate.headroomFor(isCarried ? jobIds : [])
    const fees = bumpFees(newestAttempt(slot), base, options.maxFeePerGas, headroom)
    if (fees === undefined || !slots.isOpen(slot)) return
    const carried = isCarried ? await signWithinBudget(slot, fees, jobIds) : undefined
    const attempt = carried ?? (await fill(slot, fees))
    slot.attempts.push(attempt)
    slot.bumpedAt = now()
    slot.bumpedBlock = feed.latest()?.number ?? 0
    const { hash } = attempt
    log.info({ settlementIds: attempt.jobIds, hash, relayerNonce: slot.nonce }, 'fee raised')
    void send(slot)
  }

  /** `undefined` when a budget of gas does not bear it. */
  function signWithinBudget(slot: Slot, fees: Fees, jobIds: string[]) {
    return sign(slot.nonce, slot, fees, jobIds).catch((error) => {
      if (error instanceof GasBudgetError) return undefined
      throw error
    })
  }

  /** Signs what only takes the nonce. Jobs that it carried before travel elsewhere once the nonce is taken. */
  function fill(slot: Slot, fees: Fees): Promise<Attempt> {
    slot.isGivenUp = true
    Object.assign(slot, { to: signer.address, data: '0x', gasLimit: NO_OP_GAS })
    return sign(slot.nonce, slot, fees, [])
  }

  async function forget(slot: Slot): Promise<void> {
    slots.remove(slot)
    const { nonce: relayerNonce, epoch } = slot
    const place = { network, relayer: signer.address, relayerNonce, epoch }
    await journal.resolve({ slot: place, outcomes: [], now: now() })
  }

  function land(receipt: Receipt): boolean {
    const found = slots.find(receipt.transactionHash)
    if (found === undefined) return false
    slots.remove(found.slot)
    core.nextNonce = Math.max(core.nextNonce, found.slot.nonce + 1)
    options.onLanded(found.slot, found.attempt, receipt)
    return true
  }

  async function openAt(
    nonce: number,
    call: SlotCall,
    jobIds: string[],
    fees: Fees,
  ): Promise<void> {
    const epoch = requireEpoch()
    const free = slots.reserve(nonce)
    try {
      const attempt = await sign(nonce, call, fees, jobIds)
      const slot = newSlot(attempt, call, epoch, now())
      slots.add(slot)
      feed.setBusy(true)
      core.nextNonce = Math.max(core.nextNonce, nonce + 1)
      void send(slot)
    } finally {
      free()
    }
  }

  /** The journal's counter with the chain as its floor; lowered only when nothing of ours is under way. */
  async function alignNonce(epoch: number): Promise<void> {
    const kept = await journal.findNextNonce(network, signer.address)
    const chainNonce = await core.readChainNonce()
    // A nonce that was given back counts as used while what was signed for it may land.
    const after = slots.open().map(({ nonce }) => nonce + 1)
    core.nextNonce = Math.max(kept ?? 0, chainNonce, ...after)
    if (kept === undefined || after.length > 0 || chainNonce >= kept) return
    const isLowered = await journal.setNextNonce(network, signer.address, kept, chainNonce, epoch)
    if (isLowered) core.nextNonce = chainNonce
  }

  return {
    address: signer.address,
    isSigning: false,
    isLeaving: false,
    isHeld: () => isReady && mayWork(),
    epoch: () => core.epoch,
    closedBecause: () => core.closed,
    inFlight: () => slots.open().length,
    async readPurse() {
      if (slots.open().length > 0) return undefined
      return readGasMoney(rpc, signer.address).catch(() => undefined)
    },
    open(call, jobIds, fees, purse) {
      if (purse !== undefined && purse < call.gasLimit * fees.maxFeePerGas) {
        this.closeIdle()
        return Promise.reject(new Error(`${signer.address} cannot pay for the transaction`))
      }
      return openAt(watchdog.takeGap() ?? core.nextNonce, call, jobIds, fees)
    },
    closeIdle() {
      if (!isReady || core.closed !== undefined || slots.open().length > 0) return
      core.closed = closedBy.purse
      log.warn({ relayer: signer.address, reason: core.closed }, 'lane closed')
    },
    holds: (hash) => slots.find(hash) !== undefined,
    land,
    async tick() {
      if (isTicking || !isReady || !mayWork()) return
      isTicking = true
      try {
        await watchdog.look()
      } finally {
        isTicking = false
      }
    },
    async resume(epoch) {
      core.epoch = epoch
      const attempts = await journal.openAttempts(network, signer.address)
      for (const { relayerNonce } of attempts) {
        if (slots.isTaken(relayerNonce)) continue
        const same = attempts.filter((attempt) => attempt.relayerNonce === relayerNonce)
        slots.add(restoreSlot(same, epoch, now()))
      }
      await alignNonce(epoch)
      const receipts = await readReceipts(
        rpc,
        attempts.map(({ hash }) => hash),
      )
      for (const receipt of receipts) land(receipt)
      isReady = true
      for (const slot of slots.open()) void send(slot)
    },
    drop() {
      const left = slots.open()
      slots.clear()
      isReady = false
      core.epoch = undefined
      core.closed = undefined
      this.isLeaving = false
      return left
    },
    pendingMs() {
      // Those of a closed lane that carry nothing keep nobody waiting.
      const awaited = slots.open().filter(({ jobIds }) => jobIds.size > 0 || !core.closed)
      const opened = awaited.map((slot) => slot.openedAt)
      return opened.length === 0 ? 0 : now() - Math.min(...opened)
    },
  }
}
