import type { BatchSettlementChannelManager } from '@x402/evm/batch-settlement/server'

export interface ClaimLog {
  info(details: object, text: string): void
  error(details: object, text: string): void
}

export interface ClaimRounds {
  /** Resolves when a round that began after the call is over. Never rejects. */
  run(): Promise<void>
  close(): Promise<void>
}

/** Of the facilitator, where nothing was claimed since the last time. */
const NOTHING_TO_SETTLE = 'nothing_to_settle'

/**
 * Claims by the official manager, in rounds of our own: its schedule forgets at a restart what was claimed and not yet
 * settled, and one channel that cannot be claimed would hold back all others.
 */
export function createClaimRounds({
  manager,
  claimSeconds,
  isOffered,
  isTurn = () => true,
  log,
}: {
  manager: BatchSettlementChannelManager
  claimSeconds: number
  /** Whether the facilitator would take a claim at all. */
  isOffered: () => boolean
  isTurn?: (() => boolean) | undefined
  log: ClaimLog | undefined
}): ClaimRounds {
  let isAskedAgain = false
  let running: Promise<void> | undefined

  type Select = NonNullable<Parameters<typeof manager.claim>[0]>['selectClaimChannels']

  async function claim(select: Select = (channels) => channels): Promise<void> {
    for (const claimed of await manager.claim({ selectClaimChannels: select })) {
      log?.info(claimed, 'x402: vouchers claimed')
    }
  }

  async function claimAll(): Promise<void> {
    try {
      await claim()
    } catch {
      // One at a time, so that each channel fails for itself.
      const claims = await manager.getClaimableVouchers()
      for (const { signature } of claims) {
        await claim((channels) => channels.filter((it) => it.signature === signature)).catch(
          (err) => log?.error({ err }, 'x402: a channel could not be claimed; trying again'),
        )
      }
    }
  }

  /** In every round: refunds claim too, and so may another process, or one before this that ended in between. */
  async function settle(): Promise<void> {
    try {
      const { transaction } = await manager.settle()
      log?.info({ transaction }, 'x402: claims settled')
    } catch (error) {
      if (!(error as Error).message.includes(NOTHING_TO_SETTLE)) throw error
    }
  }

  async function round(): Promise<void> {
    if (!isOffered() || !isTurn()) return
    await claimAll()
    await settle()
  }

  async function run(): Promise<void> {
    isAskedAgain = true
    running ??= (async () => {
      while (isAskedAgain) {
        isAskedAgain = false
        await round().catch((err) => log?.error({ err }, 'x402: not claimed; trying again'))
      }
      running = undefined
    })()
    return running
  }

  const timer = setInterval(run, claimSeconds * 1000).unref()
  void run()
  return {
    run,
    async close() {
      clearInterval(timer)
      await running
    },
  }
}
