import { existsSync } from 'node:fs'
import { ConfigError } from '../config/env.js'
import { MigrationError } from '../store/migration-error.js'
import { StoreUnavailableError } from '../store/store-unavailable.js'
import { UsageError } from './arguments.js'
import { readCommand } from './merchants/commands.js'
import { openDesk } from './merchants/desk.js'
import { Refusal } from './merchants/refusal.js'
import { print, printError } from './print.js'

const help = `npm run merchants -- COMMAND

What only the operator says about merchants. Works while the service runs, which follows within two seconds.

  list                              every merchant, hidden and deleted ones too
  show ID                           all that is kept of one
  official ID on|off                run by the operator; its payTo must be BUYBACK_ADDRESS
  partner ID on|off
  hosted ID URL [GET|POST] on|off   an endpoint the operator hosts
  hide ID --reason "why"            out of every public list; the public reads the reason
  unhide ID
  block payer|payTo ADDRESS --reason "why"
  unblock payer|payTo ADDRESS       as npm run blocks, which also lists them
  export [--out FILE]               JSON; without --out to the terminal (npm run -s merchants -- export)
  import FILE [--dry-run] [--replace]
                                    checked as a whole before anything is written
  --help                            this text

Settings are read as the service reads them: DATABASE_URL, BUYBACK_ADDRESS and so on, from .env too.`

process.exitCode = await main(process.argv.slice(2))

/** 0 when done, 1 when it could not be done, 2 when it was not understood. */
async function main(args: string[]): Promise<number> {
  try {
    await run(args)
    return 0
  } catch (error) {
    printError(explain(error))
    return error instanceof UsageError ? 2 : 1
  }
}

async function run(args: string[]): Promise<void> {
  const command = readCommand(args)
  if (command === 'help') return print(help)
  // What is already in the environment wins over the file.
  if (existsSync('.env')) process.loadEnvFile('.env')
  const desk = await openDesk(process.env)
  try {
    await command(desk, writeOut)
  } finally {
    await desk.close()
  }
}

/** Resolves once the terminal, or what stands behind it, has taken the piece. */
function writeOut(piece: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(piece, (error) => (error == null ? resolve() : reject(error)))
  })
}

/** One sentence for what the operator can mend; the whole error for a bug. */
function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof Refusal || error instanceof ConfigError) {
    return error.message
  }
  if (error instanceof MigrationError || error instanceof StoreUnavailableError)
    return `The database cannot be used: ${error.message}.`
  if (error instanceof Error && 'code' in error && /^SQLITE_/.test(String(error.code))) {
    return `The database cannot be used: ${error.message}.`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
