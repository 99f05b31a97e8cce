import { type ParseArgsConfig, parseArgs } from 'node:util'
import { parseUrl } from '../x402/parse-url.js'

/** A command line that cannot be understood, in one sentence. */
export class UsageError extends Error {
  override name = 'UsageError'
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
