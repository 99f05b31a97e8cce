import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { addressProblem } from '@arcus/protocol/x402/address'
import { parseUint256 } from '@arcus/protocol/x402/amounts'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import { type Address, getAddress, zeroAddress } from 'viem'
import { z } from 'zod'
import type { PayToAllowed } from '../../facilitator/settings.js'
import { concealed } from './concealed.js'

/** More digits than any sum of dollars or gwei needs. */
const MAX_WHOLE_DIGITS = 12

/** Takes a whole number from `min` to `max`, both included. */
export const integer = (min: number, max: number) =>
  setting(`must be a whole number from ${min} to ${max}`, (text) => {
    if (!/^\d{1,15}$/.test(text)) return undefined
    const value = Number(text)
    return value >= min && value <= max ? value : undefined
  })

export const boolean = () =>
  setting('must be true, false, 1 or 0', (text) => {
    if (text === 'true' || text === '1') return true
    if (text === 'false' || text === '0') return false
    return undefined
  })

export const oneOf = <const T extends string>(values: readonly T[]) =>
  setting(`must be one of ${values.join(', ')}`, (text) => values.find((value) => value === text))

/** The least amount of a payment, 6-decimal units of its token. */
export interface MinAmount {
  /** The minimum of each token that has none of its own. */
  readonly least: bigint
  readonly bySymbol: Readonly<Record<string, bigint>>
}

/** Takes a positive whole number of atomic units, and after it other minimums by the symbols of their tokens. */
export const minAmount = () =>
  setting(
    'must be a whole number of atomic units, at least 1, and may go on with others by symbol, such as 1000,EURC:900',
    (text): MinAmount | undefined => {
      const [first = '', ...others] = text.split(',').map((item) => item.trim())
      const least = positive(first)
      const pairs = others.map((item) => /^([\w.$-]{1,20}):(\d+)$/.exec(item))
      const own = pairs.map((pair) => [pair?.[1] ?? '', positive(pair?.[2] ?? '')] as const)
      const isSound = own.every(([, amount]) => amount !== undefined)
      if (least === undefined || !isSound || new Set(own.map(([it]) => it)).size < own.length) {
        return undefined
      }
      const bySymbol = Object.freeze(Object.fromEntries(own) as Record<string, bigint>)
      return Object.freeze({ least, bySymbol })
    },
  )

function positive(text: string): bigint | undefined {
  const value = parseUint256(text)
  return value === undefined || value === 0n ? undefined : value
}

/** Takes a positive decimal number and gives an exact integer of `decimals` places, never through a float. */
export const decimal = (decimals: number, example: string) =>
  setting(
    `must be a decimal number above 0 with at most ${decimals} decimals, such as ${example}`,
    (text) => {
      const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? []
      if (whole === undefined || whole.length > MAX_WHOLE_DIGITS) return undefined
      if (fraction.length > decimals) return undefined
      const value = BigInt(whole + fraction.padEnd(decimals, '0'))
      return value === 0n ? undefined : value
    },
  )

/** Takes a non-zero address, in one case or with a right EIP-55 checksum, and gives it with its checksum. */
export const address = () =>
  setting(
    'must be a 20-byte hex address with 0x prefix (in one case, or with a right checksum), not zero',
    parseAddress,
  )

/** A request is answered with every token that is taken, and each is read each hour. */
const MAX_ADDRESSES = 16

/** Takes a comma list of different addresses, as `address` does. */
export const addressList = () =>
  setting(
    `must be a comma list of at most ${MAX_ADDRESSES} different 20-byte hex addresses with 0x prefix (in one case, or with a right checksum), none zero`,
    (text): readonly Address[] | undefined => {
      const addresses = text.split(',').map((item) => parseAddress(item.trim()))
      if (addresses.length > MAX_ADDRESSES || addresses.includes(undefined)) return undefined
      if (new Set(addresses).size < addresses.length) return undefined
      return Object.freeze(addresses as Address[])
    },
  )

/** The recipients for which gas is paid: a shop has one or a few, a platform lists its sellers. */
const MAX_RECIPIENTS = 1_000

/** Takes a comma list of different addresses, of the word `listed`, or of both. */
export const payToAllowed = () =>
  setting(
    `must be a comma list of at most ${MAX_RECIPIENTS} different 20-byte hex addresses with 0x prefix, the word listed, or both`,
    (text): PayToAllowed | undefined => {
      const items = text.split(',').map((item) => item.trim())
      const addresses = items.filter((item) => item !== 'listed').map(parseAddress)
      if (items.length > MAX_RECIPIENTS || new Set(items).size < items.length) return undefined
      if (addresses.includes(undefined)) return undefined
      return Object.freeze({
        addresses: Object.freeze(addresses as Address[]),
        listed: items.includes('listed'),
      })
    },
  )

function parseAddress(text: string): Address | undefined {
  if (addressProblem(text) !== undefined || text === zeroAddress) return undefined
  return getAddress(text)
}

/** Takes `http(s)://host[:port]` and gives it without trailing slash. */
export const origin = () =>
  setting(
    'must be an http:// or https:// address without path, such as https://pay.example.com',
    parseOrigin,
  )

export const originList = () =>
  setting(
    'must be a comma list of http:// or https:// addresses without path, such as https://agent.example.com',
    (text): readonly string[] | undefined => {
      const origins = text.split(',').map((item) => parseOrigin(item.trim()))
      return origins.includes(undefined) ? undefined : Object.freeze(origins as string[])
    },
  )

/** The nodes of a chain: those that are asked, and those that only say when there is a new block. */
export interface NodeUrls {
  readonly rpcUrls: readonly string[]
  readonly pushUrls: readonly string[]
}

/**
 * Takes a comma list of http(s) URLs, with ws(s) ones among them if any. They may carry access keys, so a complaint names only
 * the position.
 */
export const nodeUrls = () =>
  z.string().transform((text, context): NodeUrls => {
    const urls = text.split(',').map((url) => url.trim())
    const complain = (message: string) => context.addIssue({ code: 'custom', message })
    const rpcUrls = urls.filter((url) => parseHttpUrl(url) !== undefined)
    const pushUrls = urls.filter(isWebSocketUrl)
    urls.forEach((url, index) => {
      if (rpcUrls.includes(url) || pushUrls.includes(url)) return
      const which = urls.length === 1 ? '' : `entry ${index + 1} `
      complain(`${which}must be an http://, https://, ws:// or wss:// URL`)
    })
    if (rpcUrls.length === 0 && pushUrls.length > 0) {
      complain(
        'needs an http:// or https:// URL too: those with ws:// only say when there is a block',
      )
    }
    if (new Set(urls).size < urls.length) complain('names the same URL twice')
    return Object.freeze({ rpcUrls: concealed(rpcUrls), pushUrls: concealed(pushUrls) })
  })

function isWebSocketUrl(text: string): boolean {
  return URL.canParse(text) && /^wss?:$/.test(new URL(text).protocol)
}

/** The proxies that are trusted to name the caller's address: none, all, the last `n`, or the named ones. */
export type TrustProxy = boolean | number | readonly string[]

export const trustProxy = () =>
  setting(
    'must be true, false, the number of proxies in front (1 to 16), or a comma list of their IP addresses or CIDR ranges',
    (text): TrustProxy | undefined => {
      if (text === 'true') return true
      if (text === 'false' || text === '0') return false
      if (/^\d+$/.test(text)) return Number(text) <= 16 ? Number(text) : undefined
      const ranges = text.split(',').map((range) => range.trim())
      return ranges.every(isAddressRange) ? Object.freeze(ranges) : undefined
    },
  )

/** Takes one http(s) URL. It may carry an access key, so a complaint does not repeat it. */
export const httpUrl = () =>
  z.string().transform((text, context): string => {
    if (parseHttpUrl(text) !== undefined) return text
    context.addIssue({ code: 'custom', message: 'must be an http:// or https:// URL' })
    return z.NEVER
  })

function setting<T>(expected: string, parse: (text: string) => T | undefined) {
  return z.string().transform((text, context): T => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: `${expected}; got ${shown(text)}` })
    return z.NEVER
  })
}

/** Shows a value in a complaint, unless it may be a key, or a URL with one, that was pasted under the wrong name. */
function shown(text: string): string {
  if (/[0-9a-f]{64}/i.test(text)) return 'a 32-byte hex value'
  if (/@|\w:\/\/[^/]+\/./.test(text)) return 'another text'
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

function parseOrigin(text: string): string | undefined {
  const url = parseHttpUrl(text)
  if (url === undefined || url.username !== '' || url.password !== '') return undefined
  return url.pathname === '/' && url.search === '' && url.hash === '' ? url.origin : undefined
}

function parseHttpUrl(text: string): URL | undefined {
  return /^https?:\/\//i.test(text) ? parseUrl(text) : undefined
}

function isAddressRange(range: string): boolean {
  const [host = '', prefix, ...rest] = range.split('/')
  const version = isIP(host)
  if (version === 0 || rest.length > 0) return false
  if (prefix === undefined) return true
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128)
}

export type DatabaseUrl =
  | { kind: 'sqlite'; path: string }
  /** The URL as written; it may hold a password. */
  | { kind: 'postgres'; url: string }

/** Takes `sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT/NAME`. A complaint repeats nothing of the value. */
export const databaseUrl = () =>
  z.string().transform((text, context): DatabaseUrl => {
    const url = parseDatabaseUrl(text)
    if (typeof url !== 'string') return url
    context.addIssue({ code: 'custom', message: url })
    return z.NEVER
  })

/** Returns the database, or a complaint about the text. */
export function parseDatabaseUrl(text: string): DatabaseUrl | string {
  if (/^postgres(ql)?:/i.test(text)) return parsePostgresUrl(text)
  const path = /^sqlite:(.+)$/.exec(text)?.[1]
  if (path === undefined) {
    return 'must be sqlite:PATH, such as sqlite:./data/arcus.db, or postgres://USER:PASSWORD@HOST:PORT/NAME'
  }
  // `sqlite:///var/arcus.db` is how other tools write an absolute path.
  return { kind: 'sqlite', path: path.replace(/^\/\/(?=\/)/, '') }
}

function problemOfFile(path: string | null): string | undefined {
  if (path === null) return undefined
  try {
    readFileSync(path)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

function parsePostgresUrl(text: string): DatabaseUrl | string {
  const form = 'must be written postgres://USER:PASSWORD@HOST:PORT/NAME'
  const url = /^postgres(ql)?:\/\//.test(text) ? parseUrl(text) : undefined
  if (url === undefined) {
    return `${form}; characters of a password other than letters and digits are percent-encoded`
  }
  const { pathname, hostname, searchParams } = url
  if (hostname === '' && !searchParams.has('host')) return `${form}; the host is missing`
  if (!/^\/[^/]+$/.test(pathname)) return `${form}; the name of the database is missing`
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const problem = problemOfFile(searchParams.get(name))
    if (problem !== undefined) return `names a file in ${name} that cannot be read (${problem})`
  }
  return { kind: 'postgres', url: text }
}
