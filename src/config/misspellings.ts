import { variableNames } from './env.js'

const MAX_DISTANCE = 2
/** Shorter names (`PORT`, `HOST`) have too many innocent neighbours in an environment. */
const MIN_NAME_CHARS = 7

/** Warns of each variable that is not ours but one slip away from one of ours; unknown others are ignored. */
export function findMisspellings(source: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(variableNames)
  const warnings: string[] = []
  for (const name of Object.keys(source).sort()) {
    if (known.has(name) || !/^[A-Z][A-Z0-9_]*$/.test(name)) continue
    const meant = variableNames.find(
      (candidate) =>
        candidate.length >= MIN_NAME_CHARS && editDistance(name, candidate) <= MAX_DISTANCE,
    )
    if (meant !== undefined)
      warnings.push(`${name} is not a setting and is ignored: did you mean ${meant}?`)
  }
  return warnings
}

/** Levenshtein distance, given up early: any result above `MAX_DISTANCE` only means "far". */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_DISTANCE) return MAX_DISTANCE + 1
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const deletion = (previous[column] ?? 0) + 1
      const insertion = (current[column - 1] ?? 0) + 1
      current.push(Math.min(substitution, deletion, insertion))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
