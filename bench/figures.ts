/** A run prints one line a figure, which is kept for the chart. */
export interface Figure {
  name: string
  arcus: number
  reference: number
  unit: string
  /** Arcus by reference. */
  ratio: number
}

/** Takes the runs that have a figure: one in which nobody was answered has none. */
export function median(values: readonly number[]): number {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b)
  return known[known.length >> 1] ?? Number.NaN
}

/** The value below which that share of all lies; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0
}

export function line(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Medians of both sides, and their ratio. */
export function compare(
  name: string,
  arcus: readonly number[],
  reference: readonly number[],
  unit: string,
): Figure {
  const [ours, theirs] = [median(arcus), median(reference)]
  const figure = { name, arcus: ours, reference: theirs, unit, ratio: ours / theirs }
  const known = arcus.filter(Number.isFinite)
  const range =
    known.length > 1 ? ` [${short(Math.min(...known))}..${short(Math.max(...known))}]` : ''
  line(`${name}: ${short(ours)}${range} against ${short(theirs)} ${unit}, x${short(figure.ratio)}`)
  return figure
}

export function short(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
