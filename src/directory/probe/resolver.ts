import { Resolver as DnsResolver, lookup } from 'node:dns/promises'

/** All addresses of a host name; rejects, or answers none, when there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** A name server gets two tries within the time a connection may take. */
const QUERY_TIMEOUT_MS = 1_200
const QUERY_TRIES = 2

/**
 * Asks the name servers themselves. The system's own lookup runs on a handful of threads that all of Node shares,
 * and whoever owns a name could hold them with a server that never answers. `servers` are those of the system
 * unless given.
 */
export function createPublicResolver(servers?: readonly string[]): Resolve {
  const dns = new DnsResolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
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
