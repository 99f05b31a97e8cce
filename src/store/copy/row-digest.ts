import { createHash } from 'node:crypto'

/** How many rows, and a SHA-256 over all of them in order: equal on two engines when every value is. */
export interface RowDigest {
  count: number
  sha256: string
}

export type TextRow = readonly (string | null)[]

export function createRowDigest(): { add(row: TextRow): void; finish(): RowDigest } {
  const hash = createHash('sha256')
  let count = 0
  return {
    add(row) {
      count++
      hash.update(JSON.stringify(row)).update('\n')
    },
    finish: () => ({ count, sha256: hash.digest('hex') }),
  }
}
