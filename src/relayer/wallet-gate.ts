import type { Rejection } from '../x402/reasons.js'
import type { TrackedJob, TrackedJobs } from './tracked-jobs.js'

/** Says no to a payer whose failed transactions have cost enough; `unbooked` is what is not in the store yet. */
export type RefuseGas = (payer: string, unbooked: bigint) => Promise<Rejection | undefined>

/** Keeps a wallet that lies from burning more than its budget, however many payments it sends at once. */
export interface WalletGate {
  /** Looked at anew whenever something is taken from the queue. */
  mayGo(): (entry: TrackedJob) => boolean
  /** Why no gas is risked on it any more. */
  refusal(entry: TrackedJob): Promise<Rejection | undefined>
}

/** Transactions of one wallet under way at once: what they burn shows only when they have landed. */
const MAX_UNDER_WAY = 8

export function createWalletGate(tracked: TrackedJobs, refuseGas: RefuseGas): WalletGate {
  return {
    mayGo() {
      let underWay: Map<string, number> | undefined
      return ({ runsPayerCode, payer }) => {
        if (!runsPayerCode) return true
        underWay ??= countUnderWay(tracked)
        return (underWay.get(payer) ?? 0) < MAX_UNDER_WAY
      }
    },
    async refusal({ runsPayerCode, payer }) {
      if (!runsPayerCode) return undefined
      let unbooked = 0n
      for (const entry of tracked.all()) if (entry.payer === payer) unbooked += entry.burntGas
      return refuseGas(payer, unbooked)
    },
  }
}

function countUnderWay(tracked: TrackedJobs): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { runsPayerCode, liveSlots, payer } of tracked.all()) {
    if (runsPayerCode && liveSlots > 0) counts.set(payer, (counts.get(payer) ?? 0) + 1)
  }
  return counts
}
