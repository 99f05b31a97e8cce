/** What a run prints: one line a figure, kept for the chart. */
export interface Figure {
  name: string
  arcus: number
  reference: number
  unit: string
  /** Arcus by reference. */
  ratio: number
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
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
  const range =
    arcus.length > 1 ? ` [${short(Math.min(...arcus))}..${short(Math.max(...arcus))}]` : ''
  line(`${name}: ${short(ours)}${range} against ${short(theirs)} ${unit}, x${short(figure.ratio)}`)
  return figure
}

export function short(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
