import { createWaiters } from '../../async/waiters.js'
import { blockOf } from '../../http/rate-limit.js'
import type { TrackedJob } from './jobs.js'

/**
 * Jobs that wait for a lane. They take turns: a round has one job for each recipient with standing, and one for all others
 * together. Behind that blocks of addresses take turns, then callers, then the other recipients, then payers. Who was served
 * last comes last in the next round, so a crowd delays its own block: the keys of payers and the addresses of recipients cost
 * nothing. What travels alone takes turns apart from what shares. A job is
 * waiting, paused, being handled, in a slot, or with the examiner, and only one of these. So no two lanes get the same job.
 */
export interface JobQueue {
  /** Adds a job behind the others of its payer; one that waits, rests or is in hand stays where it is. */
  add(entry: TrackedJob): void
  /**
   * Takes in hand the first job that may go: alone if it must be sent alone, else with as many others as may share its
   * transaction; empty when none may go. With `mayLead`, a job that passes it comes before those that do not.
   */
  take(
    maxMembers: (head: TrackedJob) => number,
    mayGo?: MayGo,
    mayLead?: (entry: TrackedJob) => boolean,
  ): TrackedJob[]
  /** Takes this job in hand; returns whether it waited here. */
  takeOut(entry: TrackedJob): boolean
  /** Lets a job wait again that the caller has in hand, at once or after a rest of so many milliseconds. */
  putBack(entry: TrackedJob, afterMs?: number): void
  /** Lets it wait again, and has it sent in a transaction of its own from now on. */
  putBackAlone(entry: TrackedJob): void
  /** Notes that the caller has a job in hand no longer: a slot or the examiner has it. */
  letGo(entry: TrackedJob): void
  isInHand(entry: TrackedJob): boolean
  /** Returns whether the job waits, rests or is in hand. */
  has(entry: TrackedJob): boolean
  /** Returns the jobs that may be taken next, in the order of the turns: the first ones of each payer. */
  next(): readonly TrackedJob[]
  /** Returns the jobs that wait, in the order of the turns. */
  entries(): readonly TrackedJob[]
  length(): number
  /** Notes that a job may be able to go that could not before, because a lane can take more by now. */
  noteChange(): void
  /** Resolves when a job waits that did not wait before, or may be able to go now. */
  untilChange(): Promise<void>
}

/** The jobs of a payer that are looked at for one transaction: a crowd of thousands costs no more to pass by. */
const LOOK_AHEAD = 200

const CHANGE = 'change'

/** After trouble before the signature the next try waits this long. */
export const RETRY_MS = 200

/** Returns whether a job may leave the queue now, in a transaction with those that are taken for it already. */
export type MayGo = (entry: TrackedJob, taken: readonly TrackedJob[]) => boolean

/** Returns whether a job takes a transaction of its own. */
export function isAlone(entry: Pick<TrackedJob, 'isAlone' | 'isSingle'>): boolean {
  return entry.isAlone || entry.isSingle === true
}

/** Jobs that take turns by what they have in common; those of one payer wait in the order in which they came. */
interface WaitingGroup {
  groups: Map<string, WaitingGroup>
  jobs: Set<TrackedJob>
}

const emptyGroup = (): WaitingGroup => ({ groups: new Map(), jobs: new Set() })

/**
 * Returns by what a job takes turns, the outermost group first. What travels alone takes turns apart from what shares, or a
 * caller that is served in shared transactions would never be first among those that travel alone.
 */
function groupsOf(entry: TrackedJob): string[] {
  const { standing, caller, payTo, payer } = entry
  const how = isAlone(entry) ? 'alone' : 'shared'
  const block = blockOf(caller)
  return standing === 'none'
    ? [how, 'newcomers', block, caller, payTo, payer]
    : [how, payTo, block, caller, payer]
}

/** Returns the jobs in the order of the turns, at most so many of each payer. */
function inTurn({ groups, jobs }: WaitingGroup, most: number): TrackedJob[] {
  if (groups.size === 0) return firstOf(jobs, most)
  const lines = Array.from(groups.values(), (group) => inTurn(group, most))
  const [only] = lines
  if (only !== undefined && lines.length === 1) return only
  const rounds = lines.reduce((longest, line) => Math.max(longest, line.length), 0)
  const found: TrackedJob[] = []
  for (let i = 0; i < rounds; i++) {
    for (const line of lines) {
      const entry = line[i]
      if (entry !== undefined) found.push(entry)
    }
  }
  return found
}

function firstOf(jobs: ReadonlySet<TrackedJob>, most: number): TrackedJob[] {
  if (jobs.size <= most) return [...jobs]
  const found: TrackedJob[] = []
  for (const entry of jobs) if (found.push(entry) >= most) break
  return found
}

export function createJobQueue(): JobQueue {
  const waiting = emptyGroup()
  let count = 0
  const inHand = new WeakSet<TrackedJob>()
  const resting = new WeakSet<TrackedJob>()
  const changes = createWaiters<void>()

  const noteChange = () => changes.wake(CHANGE)
  /** Returns the groups of a job, the outermost first and the one that holds it last; empty where it does not wait. */
  function pathTo(
    entry: TrackedJob,
  ): { name: string; within: WaitingGroup; group: WaitingGroup }[] {
    const path: ReturnType<typeof pathTo> = []
    let within = waiting
    for (const name of groupsOf(entry)) {
      const group = within.groups.get(name)
      if (group === undefined) return []
      path.push({ name, within, group })
      within = group
    }
    return within.jobs.has(entry) ? path : []
  }

  const isWaiting = (entry: TrackedJob) => pathTo(entry).length > 0
  const has = (entry: TrackedJob) => inHand.has(entry) || resting.has(entry) || isWaiting(entry)

  /** Takes a job out; with `isServed` the turn of its groups is over. */
  function takeOut(entry: TrackedJob, isServed = false): boolean {
    const path = pathTo(entry)
    if (!path.at(-1)?.group.jobs.delete(entry)) return false
    count--
    inHand.add(entry)
    for (const { name, within, group } of path.reverse()) {
      const isEmpty = group.jobs.size === 0 && group.groups.size === 0
      if (isEmpty || isServed) within.groups.delete(name)
      if (!isEmpty && isServed) within.groups.set(name, group)
    }
    return true
  }

  function add(entry: TrackedJob): void {
    if (!has(entry)) {
      let group = waiting
      for (const name of groupsOf(entry)) {
        const inner = group.groups.get(name) ?? emptyGroup()
        group.groups.set(name, inner)
        group = inner
      }
      group.jobs.add(entry)
      count++
    }
    noteChange()
  }

  function putBack(entry: TrackedJob, afterMs = 0): void {
    inHand.delete(entry)
    if (afterMs === 0 || has(entry)) {
      add(entry)
      return
    }
    resting.add(entry)
    setTimeout(() => {
      resting.delete(entry)
      add(entry)
    }, afterMs)
  }

  return {
    add,
    take(maxMembers, mayGo = () => true, mayLead = () => true) {
      const next = inTurn(waiting, LOOK_AHEAD)
      const first = next.find((entry) => mayLead(entry) && mayGo(entry, []))
      const head = first ?? next.find((entry) => mayGo(entry, []))
      if (head === undefined) return []
      const taken = [head]
      const room = isAlone(head) ? 1 : maxMembers(head)
      for (const entry of next) {
        if (taken.length >= room) break
        const mayShare = !isAlone(entry) && entry.through === head.through
        if (entry !== head && mayShare && mayGo(entry, taken)) taken.push(entry)
      }
      for (const entry of taken) takeOut(entry, true)
      return taken
    },
    takeOut: (entry) => takeOut(entry),
    putBack,
    putBackAlone(entry) {
      entry.isAlone = true
      putBack(entry)
    },
    letGo: (entry) => void inHand.delete(entry),
    isInHand: (entry) => inHand.has(entry),
    has,
    next: () => inTurn(waiting, LOOK_AHEAD),
    entries: () => inTurn(waiting, Number.POSITIVE_INFINITY),
    length: () => count,
    noteChange,
    untilChange: () => changes.until(CHANGE),
  }
}
