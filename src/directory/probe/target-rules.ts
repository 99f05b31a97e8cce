import { isIP } from 'node:net'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import ipaddr from 'ipaddr.js'

/** Longest URL that is called, example parameters included. */
export const MAX_URL_CHARS = 8_192

/** Names that never belong to a host of the public internet. */
const closedSuffixes = ['.local', '.internal', '.localhost', '.onion', '.home.arpa']

export interface TargetRules {
  /** Opens http, any port, and the addresses of this machine and of private networks: for a developer's own machine. */
  allowPrivateHosts: boolean
  /** Origins of this service, such as `https://pay.example.com`: never called. */
  ownOrigins: readonly string[]
}

type TargetCheck =
  | { isAllowed: true; url: URL }
  /** One sentence for the owner. */
  | { isAllowed: false; message: string }

/**
 * Checks by its text alone whether a URL may be called. The parser of the URL standard runs first: it turns octal, hex,
 * short, full-width and other spellings of an address into the address they mean.
 */
export function checkTarget(text: string, rules: TargetRules): TargetCheck {
  if (text.length > MAX_URL_CHARS)
    return refused(`The URL is longer than ${MAX_URL_CHARS} characters.`)
  const url = parseUrl(text)
  if (url === undefined) return refused('The URL cannot be read; write it as https://host/path.')
  const problem = problemOf(url, rules)
  return problem === undefined ? { isAllowed: true, url } : refused(problem)
}

/** Returns the host as resolvers and sockets know it: IPv6 without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/** Returns whether an address, literal, resolved or connected, may be called. */
export function isAllowedAddress(address: string, { allowPrivateHosts }: TargetRules): boolean {
  return isPublicAddress(address) || (allowPrivateHosts && isLocalAddress(address))
}

function refused(message: string): TargetCheck {
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

/** Returns whether a URL leads to this service. On a developer's machine only the port distinguishes it from the others. */
function isOwn(url: URL, { ownOrigins, allowPrivateHosts }: TargetRules): boolean {
  return ownOrigins.some((origin) => {
    const own = new URL(origin)
    return allowPrivateHosts ? own.host === url.host : own.hostname === url.hostname
  })
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** IPv4 that is no host of the public internet: RFC 6890 and its registry, with 6to4 relays and multicast. */
const closedIpv4 = ranges([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

/** For IPv6 only global unicast is open, so that every other prefix is closed without being named. */
const openIpv6 = ranges(['2000::/3'])
/** Ranges inside 2000::/3 that lead elsewhere: protocol assignments with Teredo, documentation, 6to4. */
const closedIpv6 = ranges(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** Ranges of a developer's own servers. Link-local is not among them: clouds keep their secrets there. */
const localIpv4 = ranges(['10.0.0.0/8', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'])
const localIpv6 = ranges(['::1/128', 'fc00::/7'])
/** A cloud's metadata service inside the private range. */
const metadataIpv6 = ranges(['fd00:ec2::/32'])

/** Returns whether an IP, as resolvers and sockets spell it, is a host of the public internet. Other texts are not. */
export function isPublicAddress(text: string): boolean {
  const version = isIP(text)
  if (version === 4) return !isIn(closedIpv4, text)
  return version === 6 && isIn(openIpv6, text) && !isIn(closedIpv6, text)
}

/** Returns whether an IP belongs to this machine or a private network around it; metadata services do not. */
export function isLocalAddress(text: string): boolean {
  const version = isIP(text)
  if (version === 4) return isIn(localIpv4, text)
  return version === 6 && isIn(localIpv6, text) && !isIn(metadataIpv6, text)
}

/** Returns the one spelling of an address, so that two can be compared. */
export function normalAddress(text: string): string {
  return isIP(text) === 0 ? text : ipaddr.parse(text).toNormalizedString()
}

function ranges(texts: string[]): Range[] {
  return texts.map((text) => ipaddr.parseCIDR(text))
}

function isIn(list: Range[], text: string): boolean {
  const address = ipaddr.parse(text)
  return list.some((range) => address.kind() === range[0].kind() && address.match(range))
}
