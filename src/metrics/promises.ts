/** The payments verify said yes to and settle has not answered yet, so that a no that follows a yes can be counted. */
export interface Promises {
  make(key: string): void
  /** The promise is over, whatever became of it; true when there was one. */
  end(key: string): boolean
}

/** Some 3 MB at most; what is older than the last 10,000 promises made may be forgotten. */
const MAX_REMEMBERED = 20_000

/** Remembers in two generations: a full one replaces the older, so no promise costs a search for the oldest. */
export function createPromises(maxRemembered = MAX_REMEMBERED): Promises {
  let young = new Set<string>()
  let old = new Set<string>()
  return {
    make(key) {
      young.add(key)
      if (young.size < maxRemembered / 2) return
      old = young
      young = new Set()
    },
    end(key) {
      const wasYoung = young.delete(key)
      return old.delete(key) || wasYoung
    },
  }
}
