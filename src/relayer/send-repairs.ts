import type { SendProblem } from '../chain/send-errors.js'
import { giveBack } from './give-back.js'
import { closedBy, type LaneCore } from './lane-core.js'
import type { Slot } from './slot.js'
import type { Watchdog } from './watchdog.js'

/** Refused without a cause it is sent again this soon, for every later nonce waits for it; then it is the watchdog's. */
const AGAIN_AFTER_MS = [100, 200, 400, 800]

/** One repair for each thing a node can say against a transaction; what is not said here, the watchdog finds. */
export function createSendRepairs(
  core: LaneCore,
  watchdog: Watchdog,
): Record<SendProblem, (slot: Slot) => Promise<void>> {
  const { signer, log } = core

  /** What a wallet cannot pay for, or may not send, none of its transactions in flight can: all are given back. */
  async function closeWith(reason: string): Promise<void> {
    if (core.closed === undefined) log.warn({ relayer: signer.address, reason }, 'lane closed')
    core.closed = reason
    for (const slot of core.slots.open().reverse()) await giveBack(core, slot)
  }

  return {
    alreadyKnown: async () => {},
    nonceTooLow: async (slot) => {
      await watchdog.checkConsumed(slot)
    },
    // A gap below it: the watchdog fills it.
    nonceTooHigh: async () => {},
    underpriced: core.replace,
    feeBelowBase: core.replace,
    intrinsicGas: async (slot) => {
      slot.gasLimit = (slot.gasLimit * 3n) / 2n
      await core.replace(slot)
    },
    insufficientFunds: () => closeWith(closedBy.purse),
    senderBlocked: () => closeWith(closedBy.block),
    gasAboveLimit: (slot) => giveBack(core, slot),
    unknown: async (slot) => {
      const wait = AGAIN_AFTER_MS[slot.refusals++]
      if (wait !== undefined) setTimeout(() => void core.send(slot), wait)
    },
  }
}
