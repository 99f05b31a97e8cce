import { type Config, readConfig } from './config.js'
import { ConfigError } from './config-error.js'
import { readSecrets, type Secrets } from './secrets.js'

/** Reads settings and keys; throws one `ConfigError` with the problems of both. */
export function readSettings(source: NodeJS.ProcessEnv): { config: Config; secrets: Secrets } {
  const config = attempt(() => readConfig(source))
  const secrets = attempt(() => readSecrets(source))
  if (config.ok && secrets.ok) return { config: config.value, secrets: secrets.value }
  throw new ConfigError([...problemsOf(config), ...problemsOf(secrets)])
}

type Attempt<T> = { ok: true; value: T } | { ok: false; problems: readonly string[] }

function attempt<T>(read: () => T): Attempt<T> {
  try {
    return { ok: true, value: read() }
  } catch (error) {
    if (error instanceof ConfigError) return { ok: false, problems: error.problems }
    throw error
  }
}

function problemsOf(attempted: Attempt<unknown>): readonly string[] {
  return attempted.ok ? [] : attempted.problems
}
