import { Resolver as DnsResolver, lookup } from 'node:dns/promises'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import ipaddr from 'ipaddr.js'
import { buildConnector } from 'undici'

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
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/** Returns the host that a call to a URL reserves, with its port unless that is the usual one. */
export function hostKey(url: string): string {
  return parseUrl(url)?.host ?? url
}

/** Returns whether an address, literal, resolved or connected, may be called. */
function isAllowedAddress(address: string, { allowPrivateHosts }: TargetRules): boolean {
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

type AddressRange = [ipaddr.IPv4 | ipaddr.IPv6, number]

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

function ranges(texts: string[]): AddressRange[] {
  return texts.map((text) => ipaddr.parseCIDR(text))
}

function isIn(list: AddressRange[], text: string): boolean {
  const address = ipaddr.parse(text)
  return list.some((range) => address.kind() === range[0].kind() && address.match(range))
}

/** Thrown when the host of a URL leads to an address that may not be called. */
export class BlockedTargetError extends Error {
  override readonly name = 'BlockedTargetError'
}

interface GuardedConnectOptions {
  rules: TargetRules
  resolve: Resolve
  /** Ends a connection that is still being made. */
  signal: AbortSignal
  onConnected: () => void
  /** For tests; undici's own otherwise. */
  build?: typeof buildConnector
}

/**
 * Creates the connector of one call. The host is resolved once and every one of its addresses is checked; the socket may
 * connect to no other, and its remote address is checked again before a byte is sent. undici asks no `lookup` for a
 * literal address, so literals are checked here as well.
 */
export function createGuardedConnector(options: GuardedConnectOptions): buildConnector.connector {
  return (target, callback) => {
    connect(target, options).then(
      (socket) => {
        options.onConnected()
        callback(null, socket)
      },
      (error: Error) => callback(error, null),
    )
  }
}

async function connect(
  target: buildConnector.Options,
  { rules, resolve, signal, build = buildConnector }: GuardedConnectOptions,
): Promise<Socket> {
  const isLiteral = isIP(target.hostname) !== 0
  const addresses = isLiteral ? [target.hostname] : await resolve(target.hostname)
  signal.throwIfAborted()
  const isAllowed = addresses.every((address) => isAllowedAddress(address, rules))
  if (isLiteral && !isAllowed) {
    throw new BlockedTargetError('The address is not one of the public internet.')
  }
  // A name of a private network fails as one that does not exist, so that nobody finds out by it which names there are.
  if (addresses.length === 0 || !isAllowed) {
    throw Object.assign(new Error('no public address'), { code: 'ENOTFOUND' })
  }
  const plain = { ...target, protocol: 'http:', port: target.port || defaultPort(target) }
  // The signal alone bounds the time: one limit over resolving, connecting and TLS.
  const open = build({ signal, lookup: fixedLookup(addresses), timeout: 0 })
  const socket = await promised(open, plain)
  const allowed = new Set(addresses.map(normalAddress))
  const reached = socket.remoteAddress ?? ''
  if (!allowed.has(normalAddress(reached)) || !isAllowedAddress(reached, rules)) {
    socket.destroy()
    throw new BlockedTargetError('The connection reached an address that was not checked.')
  }
  if (target.protocol !== 'https:') return socket
  const secure = build({ maxCachedSessions: 0, allowH2: false, timeout: 0 })
  return promised(secure, { ...target, httpSocket: socket })
}

function defaultPort({ protocol }: buildConnector.Options): string {
  return protocol === 'https:' ? '443' : '80'
}

/** Answers every lookup with the addresses that were checked. */
function fixedLookup(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, entries)
    else callback(null, entries[0]?.address ?? '', entries[0]?.family)
  }
}

function promised(
  connector: buildConnector.connector,
  target: buildConnector.Options,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    connector(target, (error, socket) => {
      if (error === null) resolve(socket as Socket)
      else reject(error)
    })
  })
}

/** Resolves a host name to all its addresses; rejects or returns none if there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** A name server gets two tries within the time a connection may take. */
const QUERY_TIMEOUT_MS = 1_200
const QUERY_TRIES = 2

/**
 * Creates a resolver that asks the name servers directly. The system's own lookup runs on a few threads that all of Node
 * shares, and the owner of a name could block them with a server that never answers. `servers` are those of the system
 * by default.
 */
export function createPublicResolver(
  servers?: readonly string[],
  timeout = QUERY_TIMEOUT_MS,
): Resolve {
  const dns = new DnsResolver({ timeout, tries: QUERY_TRIES })
  if (servers !== undefined) dns.setServers(servers)
  return async (hostname) => {
    const answers = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)])
    const addresses = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    )
    const [first] = answers
    if (addresses.length === 0 && first.status === 'rejected') throw first.reason
    return addresses
  }
}

/** Resolves as every program of this machine does, its hosts file included: for local use. */
export const resolveLocally: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}
