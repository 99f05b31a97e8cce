/** Resolves with the value, or after a number of milliseconds with the result of `late`. Rejects as either of them does. */
export async function inTime<Value, Late>(
  value: Promise<Value>,
  ms: number,
  late: () => Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms))
  }).then(late)
  try {
    return await Promise.race([value, over])
  } finally {
    clearTimeout(timer)
  }
}
