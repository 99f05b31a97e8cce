import { isIP } from 'node:net'
import { parseUrl } from '../../x402/parse-url.js'
import { isLocalAddress, isPublicAddress } from './address-rules.js'

/** Longest URL that is called, example parameters included. */
export const MAX_URL_CHARS = 8_192

/** Names that never belong to a host of the public internet. */
const closedSuffixes = ['.local', '.internal', '.localhost', '.onion', '.home.arpa']

export interface TargetRules {
  /** Opens http, any port, and the addresses of this machine and of private networks: for a developer's own machine. */
  allowPrivateHosts: boolean
  /** Where this service itself answers, as `https://pay.example.com`: never called. */
  ownOrigins: readonly string[]
}

export type TargetJudgement =
  | { isAllowed: true; url: URL }
  /** One sentence for the owner. */
  | { isAllowed: false; message: string }

/**
 * Judges by its text alone whether a URL may be called. The parser of the URL standard runs first, so that octal,
 * hex, short, full-width and other spellings of an address have become the address they mean.
 */
export function judgeTarget(text: string, rules: TargetRules): TargetJudgement {
  if (text.length > MAX_URL_CHARS)
    return refused(`The URL is longer than ${MAX_URL_CHARS} characters.`)
  const url = parseUrl(text)
  if (url === undefined) return refused('The URL cannot be read; write it as https://host/path.')
  const problem = problemOf(url, rules)
  return problem === undefined ? { isAllowed: true, url } : refused(problem)
}

/** The host as resolvers and sockets know it: IPv6 without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/** Whether an address, literal, resolved or connected, may be called. */
export function isAllowedAddress(address: string, { allowPrivateHosts }: TargetRules): boolean {
  return isPublicAddress(address) || (allowPrivateHosts && isLocalAddress(address))
}

function refused(message: string): TargetJudgement {
  return { isAllowed: false, message }
}

function problemOf(url: URL, rules: TargetRules): string | undefined {
  if (url.username !== '' || url.password !== '') {
    return 'The URL carries a user name or password; leave them out.'
  }
  const schemes = rules.allowPrivateHosts ? ['https:', 'http:'] : ['https:']
  if (!schemes.includes(url.protocol)) return 'Only https URLs are called.'
  if (!rules.allowPrivateHosts && url.port !== '') return 'Only port 443 is called.'
  if (isOwn(url, rules)) return 'The URL leads back to this service.'
  const host = hostOf(url)
  if (isIP(host) === 0) return nameProblem(host, rules)
  return isAllowedAddress(host, rules)
    ? undefined
    : `The address ${host} is not one of the public internet.`
}

function nameProblem(host: string, { allowPrivateHosts }: TargetRules): string | undefined {
  if (host.endsWith('.') || host.includes('..')) {
    return 'The host name has an empty part; write it without a dot at its end.'
  }
  if (host.endsWith('.onion')) return 'Hosts of .onion are not called.'
  if (allowPrivateHosts) return undefined
  if (!host.includes('.')) return `The host name ${host} has no dot, so it is not a public one.`
  const suffix = closedSuffixes.find((ending) => host.endsWith(ending) || `.${host}` === ending)
  return suffix === undefined ? undefined : `Hosts of ${suffix} are not public.`
}

/** On a developer's machine everything is one host, and only the port tells this service from the others. */
function isOwn(url: URL, { ownOrigins, allowPrivateHosts }: TargetRules): boolean {
  return ownOrigins.some((origin) => {
    const own = new URL(origin)
    return allowPrivateHosts ? own.host === url.host : own.hostname === url.hostname
  })
}
