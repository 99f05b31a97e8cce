import { existsSync, readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { parseUrl } from '@arcus/protocol/x402/parse-url'

/** A command line that cannot be understood, in one sentence. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A command that cannot be carried out, in one sentence with the reason and the remedy. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** What a verb of `arcus` does with its arguments. It may resolve to an exit code other than 0. */
export type Command = (args: string[]) => Promise<unknown>

/** The arguments that a command gets, by what `parseArgs` is given. */
export type Arguments<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>

/** Makes a command that prints its help for `--help`, and else runs with the arguments that it declares. */
export function defineCommand<const Config extends ParseArgsConfig>(
  help: string,
  config: Config,
  run: (given: Arguments<Config>) => Promise<unknown>,
): Command {
  return async (args) => {
    const options = { ...config.options, help: { type: 'boolean' } } as const
    const given = parseArguments({ ...config, args, options })
    const { help: isAsked } = given.values as { help?: boolean }
    return isAsked ? print(help) : run(given as Arguments<Config>)
  }
}

/** Like `parseArgs`, strict, but throws a `UsageError` that names the wrong argument in one sentence. */
export function parseArguments<T extends ParseArgsConfig>(config: T) {
  try {
    return parseArgs(config)
  } catch (error) {
    const [sentence = 'unknown argument'] = (error as Error).message.split('. ')
    throw new UsageError(`${sentence.replace(/\.$/, '')}; try --help.`)
  }
}

/** Reads `.env`, if there is one. Variables that are already in the environment take precedence over the file. */
export function loadEnvFile(): void {
  if (existsSync('.env')) process.loadEnvFile('.env')
}

/** Reads a TCP port, 1 to 65535. */
export function parsePort(flag: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_535) return port
  throw new UsageError(`${flag} wants a port from 1 to 65535, not "${text}".`)
}

/** Reads an http or https address. */
export function parseHttpUrl(flag: string, text: string): string {
  const url = parseUrl(text)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text
  throw new UsageError(`${flag} wants an address that starts with http:// or https://.`)
}

/** Writes a line for the person at the terminal. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** Writes the one sentence that says why a command ends without success. */
export function printError(sentence: string): void {
  process.stderr.write(`${sentence}\n`)
}

const NPM_CHECK_MS = 500

/** Returns whether npm itself runs `arcus`. Other programs pass npm's environment on to what they start. */
export function isRunByNpm(): boolean {
  return /\b(cli|bin)\/arcus\b/.test(process.env.npm_lifecycle_script ?? '')
}

/**
 * Calls back once npm is gone, or the shell between npm and this process. npm does not pass SIGTERM on to its command,
 * and when npm is killed its command lives on, with the port and the wallets. The process that started npm may end.
 */
export function watchNpm(onGone: () => void): void {
  const parent = process.ppid
  const above = readProcess(parent)
  if (above !== undefined && isOrphan(above)) {
    onGone()
    return
  }
  const isShell = above !== undefined && !above.name.startsWith('npm')
  const timer = setInterval(() => {
    const isParentThere = process.ppid === parent
    const isNpmThere = !isShell || readProcess(parent)?.parent === above.parent
    if (isParentThere && isNpmThere) return
    clearInterval(timer)
    onGone()
  }, NPM_CHECK_MS)
  timer.unref()
}

interface ProcessFacts {
  name: string
  parent: number
  group: number
}

const shells = ['sh', 'dash', 'bash', 'ash', 'busybox', 'ksh', 'zsh']

/**
 * Returns whether npm was gone before this process looked. What npm started is in the same process group as npm, and an
 * orphan is given to a process of another group. A container has one group for all: there it goes on, as it would alone.
 */
function isOrphan(above: ProcessFacts): boolean {
  const own = readProcess(process.pid)?.group
  const launcher = shells.includes(above.name) ? readProcess(above.parent) : undefined
  return own !== undefined && [above, launcher ?? above].some(({ group }) => group !== own)
}

/** Reads facts about a process. Works on Linux alone: elsewhere only the parent itself is watched. */
function readProcess(id: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'latin1')
    // The name of a process may contain blanks and brackets. Its state and parent follow the last bracket.
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return {
      name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
      parent: Number(parent),
      group: Number(group),
    }
  } catch {
    return undefined
  }
}
