import { StoreUnavailableError } from '../errors.js'

interface Member<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * One group is under way at a time: with more of them each is smaller, and costs a statement and a wait for the disk all the
 * same. A second one begins beside a group that keeps others waiting for so long, milliseconds.
 */
const SLOW_MS = 100
const MAX_UNDER_WAY = 2
/** Members of a group: a statement stays short beside the time that it is given. */
const MAX_MEMBERS = 200

/**
 * Makes a function for one item from a statement about many: what comes while a group is under way forms the next one.
 * `runGroup` resolves with one result for each item, in their order, and does everything or nothing. A group that the
 * database refuses is split until the bad item fails alone. While the database cannot be reached, all of it fails.
 */
export function inGroups<Item, Result>(
  runGroup: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Member<Item, Result>[] = []
  let underWay = 0
  let isStarting = false
  let late: NodeJS.Timeout | undefined

  function schedule(): void {
    if (isStarting || waiting.length === 0 || underWay >= MAX_UNDER_WAY) return
    if (underWay > 0) {
      late ??= setTimeout(start, SLOW_MS)
      return
    }
    isStarting = true
    // The rest of this turn of the event loop may bring more.
    setImmediate(start)
  }

  function start(): void {
    clearTimeout(late)
    late = undefined
    isStarting = false
    // Both ways to start may come in one turn.
    if (waiting.length === 0) return
    underWay++
    void run(waiting.splice(0, MAX_MEMBERS)).finally(() => {
      underWay--
      schedule()
    })
    schedule()
  }

  async function run(members: readonly Member<Item, Result>[]): Promise<void> {
    try {
      const results = await runGroup(members.map(({ item }) => item))
      for (const [i, { resolve }] of members.entries()) resolve(results[i] as Result)
    } catch (error) {
      if (members.length > 1 && !(error instanceof StoreUnavailableError)) {
        const half = Math.ceil(members.length / 2)
        await run(members.slice(0, half))
        return run(members.slice(half))
      }
      for (const { reject } of members) reject(error)
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      schedule()
    })
}

/** Returns the columns of rows as arrays, the parameters of `unnest`; `width` is their number. */
export function columnsOf(
  rows: readonly (readonly unknown[])[],
  width = rows[0]?.length ?? 0,
): unknown[][] {
  return Array.from({ length: width }, (_, i) => rows.map((row) => row[i]))
}
