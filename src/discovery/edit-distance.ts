/** How far the word that stands in a text from `start` to `end` is; one more than the bound when it is farther. */
export type Distance = (text: string, start: number, end: number) => number

/**
 * Letters put in, left out, replaced, or swapped with their neighbour, between `word` and another (optimal string
 * alignment), up to a bound. A letter is a UTF-16 unit.
 */
export function createDistance(word: string, max: number): Distance {
  const width = word.length + 1
  const codes = Uint16Array.from(word, (_, i) => word.charCodeAt(i))
  let row = new Uint16Array(width)
  let before = new Uint16Array(width)
  let beforeThat = new Uint16Array(width)

  return (text, start, end) => {
    const length = end - start
    if (Math.abs(length - word.length) > max) return max + 1
    for (let i = 0; i < width; i++) row[i] = i
    for (let at = 1; at <= length; at++) {
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
      // A swap reaches over one row, at the price of one: rows never get cheaper again.
      if (least > max) return max + 1
    }
    return Math.min(row[word.length] as number, max + 1)
  }
}
