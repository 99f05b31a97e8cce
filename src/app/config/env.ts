import { type Settings, settings } from './settings.js'

/** The variables with keys, and what names them; `secrets.ts` reads these. */
const secretNames = [
  'RELAYER_PRIVATE_KEYS',
  'RELAYER_PRIVATE_KEYS_FILE',
  'RELAYER_SIGNER_URL',
  'RELAYER_SIGNER_ADDRESSES',
  'HOSTED_PRIVATE_KEY',
  'ATTESTATION_PRIVATE_KEY',
  'ATTESTATION_PRIVATE_KEY_FILE',
  'WEBHOOK_KEY',
  'OPERATOR_WEBHOOK_URL',
  'OPERATOR_WEBHOOK_SECRET',
  'CHECK_PRIVATE_KEYS',
] as const

type VariableName = keyof Settings | (typeof secretNames)[number]

/** The variables that the service reads. */
export const variableNames = [...Object.keys(settings.shape), ...secretNames] as VariableName[]

/** The raw text of the variables that are set; only `config.ts` and `secrets.ts` interpret it. */
export type Env = Partial<Record<VariableName | 'NODE_ENV', string>>

/** Picks the variables that the service knows; an empty or blank one counts as unset. */
export function readEnv(source: NodeJS.ProcessEnv): Env {
  const env: Env = {}
  for (const name of [...variableNames, 'NODE_ENV'] as const) {
    const text = source[name]?.trim()
    if (text !== undefined && text !== '') env[name] = text
  }
  return env
}

/** Lists every problem of the settings, each a sentence that names the variable and says how to correct it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`
    super(`The settings have ${count}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

const MAX_DISTANCE = 2
/** Shorter names (`PORT`, `HOST`) resemble too many variables of other programs. */
const MIN_NAME_CHARS = 7

/** Warns of each variable that is not ours but differs from one of ours by a slip; other variables are ignored. */
export function findMisspellings(source: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(variableNames)
  const warnings: string[] = []
  for (const name of Object.keys(source).sort()) {
    if (known.has(name) || !/^[A-Z][A-Z0-9_]*$/.test(name)) continue
    const meant =
      variableNames.find(
        (candidate) =>
          candidate.length >= MIN_NAME_CHARS && editDistance(name, candidate) <= MAX_DISTANCE,
      ) ?? variableNames.find((candidate) => isPartOf(name, candidate))
    if (meant !== undefined)
      warnings.push(`${name} is not a setting and is ignored: did you mean ${meant}?`)
  }
  return warnings
}

/** Returns whether a name leaves out the beginning or the end of another: `DAILY_GAS_LIMIT`, `RPC_URL`. */
function isPartOf(name: string, candidate: string): boolean {
  if (name.length < MIN_NAME_CHARS || !name.includes('_')) return false
  const endings = [`_${name}`, `_${name}S`]
  return candidate.startsWith(`${name}_`) || endings.some((ending) => candidate.endsWith(ending))
}

/** Computes the Levenshtein distance; a result above `MAX_DISTANCE` only means "far". */
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
