import { isIP } from 'node:net'
import { type Address, getAddress, zeroAddress } from 'viem'
import { z } from 'zod'
import { parseUint256 } from '../x402/amounts.js'
import { addressProblem } from '../x402/checksum.js'
import { parseUrl } from '../x402/parse-url.js'
import { concealed } from './concealed.js'

/** More digits than any sum of dollars or gwei needs. */
const MAX_WHOLE_DIGITS = 12

/** Whole decimal digits from `min` to `max`, both included. */
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

/** A positive whole number of atomic units as `bigint`. */
export const atomicAmount = () =>
  setting('must be a whole number of 6-decimal units, at least 1', (text) => {
    const value = parseUint256(text)
    return value === undefined || value === 0n ? undefined : value
  })

/** A positive decimal number, kept exactly as an integer of `decimals` places: never through a float. */
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

/** A non-zero address, given in one case or with a right EIP-55 checksum; returned with checksum. */
export const address = () =>
  setting(
    'must be a 20-byte hex address with 0x prefix (in one case, or with a right checksum), not zero',
    (text): Address | undefined => {
      if (addressProblem(text) !== undefined || text === zeroAddress) return undefined
      return getAddress(text)
    },
  )

/** `http(s)://host[:port]`, returned without trailing slash. */
export const origin = () =>
  setting(
    'must be an http:// or https:// address without path, such as https://pay.example.com',
    parseOrigin,
  )

/** A comma list of what `origin` takes. */
export const originList = () =>
  setting(
    'must be a comma list of http:// or https:// addresses without path, such as https://agent.example.com',
    (text): readonly string[] | undefined => {
      const origins = text.split(',').map((item) => parseOrigin(item.trim()))
      return origins.includes(undefined) ? undefined : Object.freeze(origins as string[])
    },
  )

/** A comma list of http(s) URLs. They may carry access keys, so a complaint names the position only. */
export const urlList = () =>
  z.string().transform((text, context): readonly string[] => {
    const urls = text.split(',').map((url) => url.trim())
    urls.forEach((url, index) => {
      if (parseHttpUrl(url) !== undefined) return
      const which = urls.length === 1 ? '' : `entry ${index + 1} `
      context.addIssue({ code: 'custom', message: `${which}must be an http:// or https:// URL` })
    })
    if (new Set(urls).size < urls.length) {
      context.addIssue({ code: 'custom', message: 'names the same URL twice' })
    }
    return concealed(urls)
  })

/** Whom to believe about the caller's address: nobody, everybody, the last `n` proxies, or the named ones. */
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

function setting<T>(expected: string, parse: (text: string) => T | undefined) {
  return z.string().transform((text, context): T => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: `${expected}; got ${shown(text)}` })
    return z.NEVER
  })
}

/** A value pasted under the wrong name may be a key or an URL with one: neither is repeated. */
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
