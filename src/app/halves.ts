import { facilitatorOperations } from '../facilitator/operations.js'
import type { Elsewhere } from '../http/not-found.js'
import type { Config } from './config/config.js'
import type { DirectoryLink } from './directory/link.js'
import type { DatabasePlace } from './stores/open-stores.js'

/*
 * A process runs both halves of the service, or one of them (`SERVE_ONLY`). The main thread of a directory alone has the
 * edges and no facilitator.
 */

/** Returns the halves of the service that a process runs. */
export function halvesOf({ only }: Pick<Config, 'only'>): {
  hasFacilitator: boolean
  hasDirectory: boolean
} {
  return { hasFacilitator: only !== 'directory', hasDirectory: only !== 'facilitator' }
}

/** Returns the paths that the other half serves in processes of its own; `undefined` where both are in this one. */
export function otherHalfOf({ only, baseUrl, directoryUrl }: Config): Elsewhere | undefined {
  if (only === undefined) return undefined
  if (only === 'facilitator') {
    const message = `There is nothing at this path: this process serves payments alone. The catalog and its pages are at ${directoryUrl}.`
    return { has: () => true, message }
  }
  const message = `This process serves the directory alone. Payments are verified, settled and looked up at ${baseUrl}.`
  const fixed = new Set([...facilitatorOperations.map(({ url }) => url), '/ready/details'])
  // `/payments` is a page of the directory.
  return { has: (path) => fixed.has(path) || path.startsWith('/payments/'), message }
}

/** The connections of a process without a facilitator, whose edges count requests and see whether the database answers. */
const EDGE_CONNECTIONS = 2

export function ofEdges(database: DatabasePlace): DatabasePlace {
  if (database.kind === 'sqlite') return database
  return { kind: 'postgres', url: database.url, poolSize: EDGE_CONNECTIONS }
}

/** Returns the time by the clock of the database, as far as the thread of the directory knows it. */
export function timeOf(link: DirectoryLink | undefined): number {
  const { least, most } = link?.figures()?.leases.clockAhead ?? { least: 0, most: 0 }
  return Math.round(Date.now() - (least + most) / 2)
}

/** Returns the leases that a process has for its directory alone. */
export function leasesOf(findLink: () => DirectoryLink | undefined) {
  const leases = () => findLink()?.figures()?.leases
  return {
    ageMs: () => leases()?.ageMs,
    clockAhead: () => leases()?.clockAhead ?? { least: 0, most: 0 },
  }
}
