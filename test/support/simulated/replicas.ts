import { isDecided, type JobSharing } from '../../../src/facilitator/journal/settlement-journal.js'
import { createJobSharing } from '../../../src/facilitator/journal/sqlite/stores.js'
import {
  JobsTakenError,
  LeaseLostError,
  type LeaseStore,
  laneLease,
} from '../../../src/sql/leases.js'
import { network, type ProcessWish, type World } from './a-relayer.js'

const DURATION_MS = 5_000

/** What processes share beside the rows: who holds which lease, and who works on which job, as PostgreSQL keeps it. */
export function aCluster(world: World) {
  const living = new Map<string, number>()
  const leases = new Map<string, { owner: string; epoch: number; until: number }>()
  /** The process of each job; `undefined` while it is offered. */
  const owners = new Map<string, string | undefined>()
  const closed = new Set<string>()
  const silent = new Set<string>()
  /** How often the processes asked for payments of others. */
  const asked = { takeOffered: 0, takeOrphans: 0 }
  const journal = world.store.journal
  const stored = createJobSharing(world.database)
  const isAlive = (name: string | undefined) => (living.get(name ?? '') ?? 0) > Date.now()
  const isHeld = (name: string) => (leases.get(name)?.until ?? 0) > Date.now()
  const ofLanes = world.signers.map(({ address }) => laneLease(network, address))

  function answer(process: string): void {
    if (silent.has(process)) throw new Error('the database does not answer')
  }

  function leasesOf(process: string): LeaseStore {
    return {
      durationMs: DURATION_MS,
      async beat() {
        answer(process)
        const until = Date.now() + DURATION_MS
        living.set(process, until)
        const held = [...leases].filter(([name, it]) => it.owner === process && isHeld(name))
        for (const [, lease] of held) lease.until = until
        return {
          epochs: new Map(held.map(([name, { epoch }]) => [name, epoch])),
          elsewhere: new Set(
            ofLanes.filter((name) => isHeld(name) && leases.get(name)?.owner !== process),
          ),
          replicas: [...living.keys()].filter(isAlive).length,
          clockAhead: { least: 0, most: 0 },
        }
      },
      async take(names) {
        answer(process)
        const free = names.filter((name) => !isHeld(name))
        for (const name of free) {
          const epoch = (leases.get(name)?.epoch ?? 0) + 1
          leases.set(name, { owner: process, epoch, until: Date.now() + DURATION_MS })
        }
        return new Map(free.map((name) => [name, leases.get(name)?.epoch ?? 0]))
      },
      async release(name) {
        answer(process)
        leases.delete(name)
      },
      async leave() {
        living.delete(process)
        for (const [name, { owner }] of leases) if (owner === process) leases.delete(name)
      },
    }
  }

  async function take(process: string, ids: readonly string[]) {
    for (const id of ids) owners.set(id, process)
    return Promise.all(ids.map(async (id) => (await journal.findJobById(id)) ?? fail(id)))
  }

  async function openIds(): Promise<string[]> {
    const known = [...owners.keys()].filter((id) => !closed.has(id))
    const decided = new Set(await stored.decidedAmong(known))
    for (const id of decided) closed.add(id)
    return known.filter((id) => !decided.has(id))
  }

  function sharingOf(process: string): JobSharing {
    return {
      ...stored,
      isSole: false,
      async offer(ids) {
        answer(process)
        for (const id of ids) owners.set(id, undefined)
      },
      async takeOffered(_network, limit, mayTake = () => true) {
        asked.takeOffered++
        answer(process)
        const offered = (await openIds()).filter((id) => owners.get(id) === undefined)
        const rows = await Promise.all(offered.slice(0, limit).map(journal.findJobById))
        const mine = rows.flatMap((row) => (row !== undefined && mayTake(row) ? [row.id] : []))
        return take(process, mine)
      },
      async takeOfLane(network, relayer) {
        answer(process)
        const jobs = await stored.takeOfLane(network, relayer)
        return take(
          process,
          jobs.map(({ id }) => id),
        )
      },
      async takeOrphans(_network, known, limit) {
        asked.takeOrphans++
        answer(process)
        const isOrphan = async (id: string) => {
          const owner = owners.get(id)
          if (owner === undefined) return false
          if (owner === process ? known.includes(id) : isAlive(owner)) return false
          return !(await journal.mayLand(network, id))
        }
        const found: string[] = []
        for (const id of await openIds()) if (await isOrphan(id)) found.push(id)
        return take(process, found.slice(0, limit))
      },
      async withdraw(job, outcome, now) {
        answer(process)
        const row = await journal.findJobById(job.id)
        if (row === undefined || isDecided(row) || row.transaction !== null) return undefined
        await journal.resolve({ outcomes: [{ id: job.id, round: job.round, outcome }], now })
        return journal.findJobById(job.id)
      },
      async decidedAmong(ids) {
        answer(process)
        return stored.decidedAmong(ids)
      },
    }
  }

  /** Returns what makes a process one of this cluster. */
  function member(process: string): ProcessWish {
    const require = (relayer: string, epoch: number) => {
      const lease = leases.get(laneLease(network, relayer as `0x${string}`))
      if (lease?.owner === process && lease.epoch === epoch) return
      throw new LeaseLostError('another process has the wallet')
    }
    return {
      leases: leasesOf(process),
      sharing: sharingOf(process),
      journal: (journal) => ({
        ...journal,
        async claim(...claim) {
          const claimed = await journal.claim(...claim)
          if (claimed.state === 'claimed') owners.set(claimed.job.id, process)
          return claimed
        },
        async recordAttempt(attempt, epoch, budgets) {
          answer(process)
          require(attempt.relayer, epoch)
          const taken = attempt.jobIds.filter((id) => owners.get(id) !== process)
          if (taken.length > 0) throw new JobsTakenError(taken)
          return journal.recordAttempt(attempt, epoch, budgets)
        },
        async resolve(resolution) {
          answer(process)
          if (resolution.slot !== undefined) require(resolution.slot.relayer, resolution.slot.epoch)
          const own = resolution.outcomes.filter(({ id }) => owners.get(id) === process)
          return journal.resolve({ ...resolution, outcomes: own })
        },
        async setNextNonce(network, relayer, expected, next, epoch) {
          require(relayer, epoch)
          return journal.setNextNonce(network, relayer, expected, next, epoch)
        },
      }),
    }
  }

  return {
    member,
    asked,
    ownerOf: (id: string) => owners.get(id),
    /** The database does not answer this process. */
    isolate: (process: string) => void silent.add(process),
    reconnect: (process: string) => void silent.delete(process),
  }
}

function fail(id: string): never {
  throw new Error(`there is no job ${id}`)
}
