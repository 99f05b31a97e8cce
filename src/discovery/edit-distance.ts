/** Compares a word with the one that stands in a text from `start` to `end`. */
export interface Distances {
  /** How far it is; one more than the bound when it is farther. */
  toWord(text: string, start: number, end: number): number
  /** How far the nearest of its beginnings is, and how many letters that has; of equally near ones the longest. */
  toBeginning(text: string, start: number, end: number): { distance: number; length: number }
}

/**
 * Letters put in, left out, replaced, or swapped with their neighbour, between `word` and another (optimal string
 * alignment), up to a bound. A letter is a UTF-16 unit.
 */
export function createDistances(word: string, max: number): Distances {
  const width = word.length + 1
  const codes = Uint16Array.from(word, (_, i) => word.charCodeAt(i))
  let row = new Uint16Array(width)
  let before = new Uint16Array(width)
  let beforeThat = new Uint16Array(width)

  function startRows(): void {
    for (let i = 0; i < width; i++) row[i] = i
  }

  /** The row of the letter at `at`, the first being 1; false when all that follows is beyond the bound. */
  function nextRow(text: string, start: number, at: number): boolean {
    const spent = beforeThat
    beforeThat = before
    before = row
    row = spent
    const code = text.charCodeAt(start + at - 1)
    const last = at > 1 ? text.charCodeAt(start + at - 2) : -1
    row[0] = at
    let least = at
    for (let i = 1; i < width; i++) {
      const here = codes[i - 1] as number
      let cost = (before[i - 1] as number) + (here === code ? 0 : 1)
      cost = Math.min(cost, (before[i] as number) + 1, (row[i - 1] as number) + 1)
      if (i > 1 && here === last && codes[i - 2] === code) {
        cost = Math.min(cost, (beforeThat[i - 2] as number) + 1)
      }
      row[i] = cost
      if (cost < least) least = cost
    }
    return least <= max
  }

  return {
    toWord(text, start, end) {
      const length = end - start
      if (Math.abs(length - word.length) > max) return max + 1
      startRows()
      for (let at = 1; at <= length; at++) if (!nextRow(text, start, at)) return max + 1
      return Math.min(row[word.length] as number, max + 1)
    },
    toBeginning(text, start, end) {
      const nearest = { distance: Math.min(word.length, max + 1), length: 0 }
      startRows()
      for (let at = 1; at <= Math.min(end - start, word.length + max); at++) {
        if (!nextRow(text, start, at)) break
        const distance = row[word.length] as number
        if (distance > max || distance > nearest.distance) continue
        nearest.distance = distance
        nearest.length = at
      }
      return nearest
    },
  }
}
