/** A day, in milliseconds. */
export const DAY_MS = 86_400_000
/** A day, in seconds. */
export const DAY_SECONDS = 86_400

/** Returns whole Unix seconds for Unix milliseconds. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1_000)
}
