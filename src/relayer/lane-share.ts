import { laneLease } from '../store/leases.js'
import type { Attempt, Job, JobSharing, SettlementJournal } from '../store/settlement-journal.js'
import type { Lane } from './lane.js'
import type { LeaseKeeper } from './lease-keeper.js'
import type { TrackedJobs } from './tracked-jobs.js'

export interface LaneShareOptions {
  network: string
  lanes: readonly Lane[]
  leases: LeaseKeeper
  sharing: JobSharing
  journal: Pick<SettlementJournal, 'openAttempts'>
  tracked: TrackedJobs
  /** Begins to track it, unless it is tracked in this round. */
  track(job: Job): void
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}

export interface LaneShare {
  /** Takes up lanes whose lease has come, lets go of those whose lease has gone. Rejects when one could not be taken up. */
  follow(): Promise<void>
}

/** Keeps the lanes of this process in step with its leases. */
export function createLaneShare(options: LaneShareOptions): LaneShare {
  const { network, lanes, leases, sharing, journal, tracked, track, log } = options
  const group = lanes.map(({ address }) => laneLease(network, address))
  let following: Promise<void> | undefined

  async function follow(): Promise<void> {
    for (const lane of lanes) {
      const epoch = leases.known(laneLease(network, lane.address))
      if (lane.epoch() !== undefined && lane.epoch() !== epoch) letGo(lane)
      if (lane.epoch() === undefined && epoch !== undefined) await takeUp(lane, epoch)
    }
    if (leases.isShared) await giveUpSurplus()
  }

  /** What its transactions carry comes with the lane, whoever worked on it. */
  async function takeUp(lane: Lane, epoch: number): Promise<void> {
    for (const job of await sharing.takeOfLane(network, lane.address)) {
      track(job)
    }
    const attempts: Attempt[] = await journal.openAttempts(network, lane.address)
    for (const nonce of new Set(attempts.map(({ relayerNonce }) => relayerNonce))) {
      const same = attempts.filter(({ relayerNonce }) => relayerNonce === nonce)
      const hashes = same.map(({ hash }) => hash)
      for (const id of new Set(same.flatMap(({ jobIds }) => jobIds))) tracked.hold(id, hashes)
    }
    try {
      await lane.resume(epoch)
    } catch (error) {
      letGo(lane)
      throw error
    }
    if (leases.isShared) {
      log.info({ relayer: lane.address, epoch, transactions: attempts.length }, 'lane taken')
    }
  }

  function letGo(lane: Lane): void {
    const ids = new Set(lane.drop().flatMap(({ jobIds }) => [...jobIds]))
    for (const id of ids) tracked.abandon(id)
    if (leases.isShared) log.warn({ relayer: lane.address, settlements: ids.size }, 'lane let go')
  }

  /** Where others have too few, a lane takes nothing new and goes to them once it is idle. */
  async function giveUpSurplus(): Promise<void> {
    const surplus = new Set(leases.surplus(group))
    for (const lane of lanes) {
      const name = laneLease(network, lane.address)
      lane.isLeaving = surplus.has(name)
      if (!lane.isLeaving || !lane.isHeld() || lane.isSigning || lane.inFlight() > 0) continue
      lane.drop()
      await leases.release(name)
      log.info({ relayer: lane.address }, 'lane passed on')
    }
  }

  return {
    follow() {
      following ??= follow().finally(() => {
        following = undefined
      })
      return following
    },
  }
}
