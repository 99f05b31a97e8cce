import type { Hex } from 'viem'
import { type RelayerTransaction, type Signer, SignerError, trialTransaction } from './signer.js'

/** A signer that knows whether it signs now. */
export interface WatchedSigner extends Signer {
  /** Returns why it gives no signature now; `undefined` while it does. */
  failure(): string | undefined
  /** Tries a key that is held elsewhere, before a payment needs it. */
  tryEarly(): void
  /** Tries a signer that failed, once that is due. */
  tryAgain(): void
  /** Forgets that it failed. */
  reset(): void
}

interface WatchedSignerOptions {
  chainId: number
  /** Unix milliseconds. */
  now: () => number
  /** Runs with the first failure. */
  onFailure: (reason: string, error: SignerError) => void
  /** Runs when the signer signs again after a failure. */
  onRecovery: () => void
}

/** A signer that failed is tried again after the first, and later each time after twice as long, up to the second. */
const TRY_MS = 500
const TRY_AT_MOST_MS = 2_000

/** Watches a signer. Only a trial shows that it signs again, because no payment is given to one that failed. */
export function watchSigner(signer: Signer, options: WatchedSignerOptions): WatchedSigner {
  const { chainId, now, onFailure, onRecovery } = options
  const trial = trialTransaction(chainId, signer.address)
  let failure: string | undefined
  /** Failures since it signed a payment: trials that succeed in between do not make the waits short again. */
  let failures = 0
  let tryAt = 0

  async function ask(transaction: RelayerTransaction): Promise<Hex> {
    try {
      return await signer.sign(transaction)
    } catch (error) {
      if (!(error instanceof SignerError)) throw error
      tryAt = now() + Math.min(TRY_MS * 2 ** Math.min(failures++, 10), TRY_AT_MOST_MS)
      const reason = `its signer fails: ${error.message}`
      if (failure === undefined) onFailure(reason, error)
      failure = reason
      throw error
    }
  }

  async function tryNow(): Promise<void> {
    tryAt = now() + TRY_AT_MOST_MS
    const raw = await ask(trial).catch(() => undefined)
    if (raw === undefined || failure === undefined) return
    failure = undefined
    onRecovery()
  }

  return {
    ...signer,
    async sign(transaction) {
      const raw = await ask(transaction)
      failures = 0
      return raw
    },
    failure: () => failure,
    tryEarly() {
      if (signer.isRemote) void tryNow()
    },
    tryAgain() {
      if (failure !== undefined && now() >= tryAt) void tryNow()
    },
    reset() {
      failure = undefined
    },
  }
}
