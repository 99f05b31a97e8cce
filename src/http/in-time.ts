/** Resolves with the value, or with the substitute after so many milliseconds. Rejects as the value does. */
export async function inTime<Value, Substitute>(
  value: Promise<Value>,
  ms: number,
  substitute: Substitute,
): Promise<Value | Substitute> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Substitute>((resolve) => {
    timer = setTimeout(() => resolve(substitute), ms)
  })
  try {
    return await Promise.race([value, late])
  } finally {
    clearTimeout(timer)
  }
}
