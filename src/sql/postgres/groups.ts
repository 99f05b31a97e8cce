import { StoreUnavailableError } from '../errors.js'

interface Member<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * One group is under way at a time: several smaller groups would cost as many statements and disk waits. A second group
 * starts if the first one takes longer than this, in milliseconds.
 */
const SLOW_MS = 100
const MAX_UNDER_WAY = 2
/** Members of a group: a statement takes little of the time that it is given. */
const MAX_MEMBERS = 200

/**
 * Makes a function for one item from a statement about many: what comes while a group is under way forms the next one.
 * `runGroup` resolves with one result for each item, in their order, and does everything or nothing. A group that the
 * database refuses is split until the bad item fails alone. While the database cannot be reached, all of it fails.
 * Two items with a key in common would refuse each other, so of each key in `keysOf` one item at a time is under way.
 */
export function inGroups<Item, Result>(
  runGroup: (items: readonly Item[]) => Promise<readonly Result[]>,
  keysOf: (item: Item) => readonly string[] = () => [],
): (item: Item) => Promise<Result> {
  let waiting: Member<Item, Result>[] = []
  const keysUnderWay = new Set<string>()
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
    // The rest of this tick of the event loop may bring more.
    setImmediate(start)
  }

  function start(): void {
    clearTimeout(late)
    late = undefined
    isStarting = false
    const members = takeGroup()
    // Both ways to start may come in one tick, and all that waits may wait for keys under way.
    if (members.length === 0) return
    underWay++
    void run(members).finally(() => {
      underWay--
      for (const { item } of members) for (const key of keysOf(item)) keysUnderWay.delete(key)
      schedule()
    })
    schedule()
  }

  /** Takes the first of what waits, and leaves what shares a key with something under way to a later group. */
  function takeGroup(): Member<Item, Result>[] {
    const members: Member<Item, Result>[] = []
    const left: Member<Item, Result>[] = []
    for (const member of waiting) {
      const keys = keysOf(member.item)
      const mustWait = members.length >= MAX_MEMBERS || keys.some((key) => keysUnderWay.has(key))
      if (!mustWait) for (const key of keys) keysUnderWay.add(key)
      ;(mustWait ? left : members).push(member)
    }
    waiting = left
    return members
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
