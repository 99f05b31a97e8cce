/** A test asks for less than this at one moment of the clock. */
const MOST_ASKED = 5_000
const never = new Promise<never>(() => {})

/** Makes the test whether a loop asks that never lets the clock go on. Such a loop waits for `never`, and the test goes on. */
export function createPatience() {
  let [at, asked] = [0, 0]
  const isOver = () => {
    if (at !== Date.now()) [at, asked] = [Date.now(), 0]
    return ++asked > MOST_ASKED
  }
  return { isOver, never }
}
