import { Resolver as DnsResolver, lookup } from 'node:dns/promises'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { isAllowedAddress, normalAddress, type TargetRules } from './target-rules.js'

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
  if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
  if (!addresses.every((address) => isAllowedAddress(address, rules))) {
    throw new BlockedTargetError('The host leads to an address that is not of the public internet.')
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
