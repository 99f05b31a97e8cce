import { setTimeout as sleep } from 'node:timers/promises'
import type { MayGoOn } from '../../async/background.js'
import { DAY_SECONDS, toSeconds } from '../../async/time.js'
import type { FailedJobs, FailedPlace } from '../journal/failed-jobs.js'
import type { Job, SettlementJournal } from '../journal/settlement-journal.js'
import type { Network } from '../methods/network.js'
import { confirmation } from '../relayer/outcomes.js'

/** Old rows need no hurry, and the pass reads all that were found unused. */
const FORGET_MS = 3_600_000
const ROWS_AT_ONCE = 25
/** Time that everything else has between two steps. */
const PAUSE_MS = 20
/** Seconds after its end for which a failed payment that nothing was sent for is kept: its buyer may ask what became of it. */
const KEPT_SECONDS = 7 * DAY_SECONDS
const START: FailedPlace = { expiresAt: -1, id: '' }

/**
 * Creates the task that looks at each failed payment once more when its time is over, because others may have brought it on
 * chain: it is then confirmed, used or unused for good. Those that nothing was sent for, and that are unused, are deleted
 * some days later.
 */
export function createFailedPayments(options: {
  store: FailedJobs
  journal: Pick<SettlementJournal, 'recordFound'>
  networks: readonly Network[]
  /** Unix milliseconds. */
  now(): number
}): (mayGoOn: MayGoOn) => Promise<void> {
  const { store, journal, networks, now } = options

  let nextForget = 0

  async function lookAt(network: Network, mayGoOn: MayGoOn): Promise<void> {
    const block = network.latestBlock()
    if (block === undefined) return
    for (let after: FailedPlace | undefined = START; after !== undefined; ) {
      if (!mayGoOn()) return
      const rows: Job[] = await store.unread(
        network.terms.network,
        block.timestamp,
        after,
        ROWS_AT_ONCE,
      )
      await Promise.all(rows.map((job) => look(network, job, block.number)))
      after = rows.at(-1)
      await sleep(PAUSE_MS)
    }
  }

  /** Notes what the chain says in a block after the end. What no node shows yet is asked again at the next round. */
  async function look({ kinds }: Network, job: Job, block: number): Promise<void> {
    const found = await kinds[job.kind]?.examine(job, block)
    if (found?.state === 'confirmed') {
      await journal.recordFound(job, job, confirmation(found.receipt, found, job.gasCost), now())
    } else if (found?.state === 'failed') {
      const isUsed = found.reason === 'nonceAlreadyUsed'
      const transaction = found.transaction ?? null
      await store.note(job, isUsed ? { usedBlock: block, transaction } : { unusedBlock: block })
    }
  }

  return async (mayGoOn) => {
    for (const network of networks) await lookAt(network, mayGoOn)
    if (now() < nextForget) return
    const before = toSeconds(now()) - KEPT_SECONDS
    while (mayGoOn() && (await store.forget(before, ROWS_AT_ONCE)) > 0) await sleep(PAUSE_MS)
    nextForget = now() + FORGET_MS
  }
}
