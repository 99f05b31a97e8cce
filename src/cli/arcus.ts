#!/usr/bin/env node
import { ConfigError } from '../app/config/env.js'
import { revision, version } from '../http/version.js'
import { CopyError, MigrationError, StoreUnavailableError } from '../sql/errors.js'
import { CommandError, loadEnvFile, print, printError, UsageError } from './command-line.js'
import { verbs } from './commands.js'

const words = process.argv.slice(2)
const code = await run(words)
// The service sets its own exit code when it ends.
if (code !== 0) process.exitCode = code
// Connections and libraries of the local chain may hold something open, which must not keep the terminal busy.
if (verbs[words[0] ?? '']?.isForDevelopers) process.exit()

/** Runs the verb. Resolves to the exit code: 0 when it is done, 1 when it cannot be done, 2 when it is not understood. */
async function run([name = '--help', ...args]: string[]): Promise<number> {
  try {
    const code = await start(name, args)
    return typeof code === 'number' ? code : 0
  } catch (error) {
    printError(explain(error))
    return error instanceof UsageError ? 2 : 1
  }
}

async function start(name: string, args: string[]): Promise<unknown> {
  if (name === '--help' || name === 'help') return print(help())
  if (name === '--version') return print(describeVersion())
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  if (verb === undefined) {
    throw new UsageError(`There is no command ${JSON.stringify(name)}; try --help.`)
  }
  if (!verb.isForDevelopers && !verb.needsNoSettings) loadEnvFile()
  const { command } = await verb.load()
  if (command === undefined) {
    throw new CommandError(`arcus ${name} needs a checkout with its development packages.`)
  }
  return command(args)
}

function help(): string {
  const lines = Object.entries(verbs).map(([name, { summary }]) => `  ${name.padEnd(18)}${summary}`)
  return `arcus COMMAND [OPTIONS]

${lines.join('\n')}

arcus COMMAND --help explains one, and arcus --version names the version. In a checkout "arcus" is: npm run arcus --
Settings are read as the service reads them, from .env too.`
}

function describeVersion(): string {
  return revision === undefined ? version : `${version} (${revision.slice(0, 12)})`
}

/** Returns one sentence for a problem that the operator can fix, and the whole error for a bug. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const written = [UsageError, CommandError, ConfigError, CopyError]
  if (written.some((type) => error instanceof type)) return error.message
  const code = 'code' in error ? String(error.code) : ''
  if (
    error instanceof MigrationError ||
    error instanceof StoreUnavailableError ||
    code.startsWith('SQLITE_')
  ) {
    return `The database cannot be used: ${error.message}.`
  }
  if (/^E[A-Z]+$/.test(code)) return `${error.message}.`
  return error.stack ?? error.message
}
