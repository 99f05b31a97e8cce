import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { normalAddress } from './address-rules.js'
import type { Resolve } from './resolver.js'
import { isAllowedAddress, type TargetRules } from './target-rules.js'

/** The host of a URL leads where nothing may be called. */
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
 * Makes the connector of one call: the host is resolved once, every one of its addresses is judged, the socket may
 * go to no other, and where it came out is judged again before a byte is sent over it. undici asks no `lookup`
 * for a literal address, so literals are judged here as well.
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
    throw new BlockedTargetError('The connection came out at an address that was not checked.')
  }
  if (target.protocol !== 'https:') return socket
  const secure = build({ maxCachedSessions: 0, allowH2: false, timeout: 0 })
  return promised(secure, { ...target, httpSocket: socket })
}

function defaultPort({ protocol }: buildConnector.Options): string {
  return protocol === 'https:' ? '443' : '80'
}

/** Answers every question with the addresses that were judged. */
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
