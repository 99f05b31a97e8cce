/** A run that every caller shares who asks while it is under way. */
interface SingleFlight<Args extends unknown[], Result> {
  /** Begins a run, or joins the one under way, whatever its arguments were. */
  (...args: Args): Promise<Result>
  /** Returns the run under way; `undefined` where there is none. */
  underWay(): Promise<Result> | undefined
}

/** Makes a function that never runs twice at a time. */
export function singleFlight<Args extends unknown[], Result>(
  run: (...args: Args) => Promise<Result>,
): SingleFlight<Args, Result> {
  let underWay: Promise<Result> | undefined
  const join = (...args: Args) => {
    underWay ??= run(...args).finally(() => {
      underWay = undefined
    })
    return underWay
  }
  return Object.assign(join, { underWay: () => underWay })
}
