interface Patience {
  /** Milliseconds of the first wait. Each is twice the one before, up to the last. */
  firstMs: number
  lastMs: number
  /** Receives why an attempt failed, and the wait that follows. What it throws ends the attempts. */
  onFailure(error: unknown, waitMs: number): void
  /** Whether the wait keeps the process alive; true unless given. */
  isHolding?: boolean
}

/** Makes attempts until one succeeds, ever more slowly. Rejects only with what `onFailure` throws. */
export async function persist<Result>(
  attempt: () => Promise<Result> | Result,
  { firstMs, lastMs, onFailure, isHolding = true }: Patience,
): Promise<Result> {
  for (let waitMs = firstMs; ; waitMs = Math.min(waitMs * 2, lastMs)) {
    try {
      return await attempt()
    } catch (error) {
      onFailure(error, waitMs)
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs)
      if (!isHolding) timer.unref()
    })
  }
}
