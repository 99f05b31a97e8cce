import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { createLeaseKeeper, type LeaseKeeper } from '../facilitator/relayer/leases.js'
import { lockForService } from '../sql/sqlite/service-lock.js'
import type { Config } from './config/config.js'
import type { Teardown } from './lifecycle.js'
import { type DiskWatch, watchDisk } from './stores/disk-watch.js'
import { openStores } from './stores/open-stores.js'
import type { Stores } from './stores/stores.js'

/** The stores, and the rights of this process over them. */
export interface ComposedStores {
  stores: Stores
  leases: LeaseKeeper
  /** Whether this process does the work that one process does for all. */
  isKeeper(): boolean
  disk: DiskWatch
  /** The stores of the directory. To a process that is not the keeper no endpoint is due, no news is queued, nothing is old, and no figure has changed. */
  forDirectory: Pick<
    Stores,
    | 'listings'
    | 'activity'
    | 'events'
    | 'hooks'
    | 'ratings'
    | 'usage'
    | 'history'
    | 'sessions'
    | 'settlements'
    | 'threadSource'
  >
}

/** A tenth of a small disk counts instead. Enough for a day of payments at one a second. */
const MIN_FREE_DISK_BYTES = 256 * 2 ** 20
/** The lease on the work that one process does for all: probes that are due, and sweeps. */
export const UPKEEP = 'upkeep'

/** Opens the database of the settings. Rejects with `DatabaseInUseError`, `MigrationError` or `StoreUnavailableError`. */
export async function composeStores(
  config: Config,
  log: Logger,
  teardown: Teardown,
): Promise<ComposedStores> {
  const { database } = config
  // The lock comes before anything is read or migrated. Replicas on PostgreSQL share the work by leases.
  if (database.kind === 'sqlite') teardown.add('lock', lockForService(database.path))
  const stores = await openStores(database, (err) =>
    log.warn({ err }, 'a connection to the database broke'),
  )
  teardown.add('database', () => stores.close())
  const upkeep = stores.startUpkeep((err) =>
    log.warn({ err }, 'the upkeep of the database failed; trying again'),
  )
  teardown.add('upkeep', () => upkeep.stop())
  const leases = createLeaseKeeper(stores.leases, log)
  teardown.add('leases', () => leases.stop())
  await stores.deliveries.dropLeases()
  const isKeeper = () => leases.held(UPKEEP) !== undefined
  const { listings, activity, events, hooks, usage, sessions } = stores
  const disk = await watchDisk({
    folder: folderOf(config.database),
    minFreeBytes: MIN_FREE_DISK_BYTES,
    log,
  })
  teardown.add('disk watch', () => disk.stop())
  return {
    stores,
    leases,
    isKeeper,
    disk,
    forDirectory: {
      hooks,
      sessions,
      history: stores.history,
      ratings: stores.ratings,
      settlements: stores.settlements,
      threadSource: stores.threadSource,
      listings: {
        ...listings,
        dueEndpoints: async (now, limit) => (isKeeper() ? listings.dueEndpoints(now, limit) : []),
      },
      activity: {
        ...activity,
        forget: async (before, limit) => (isKeeper() ? activity.forget(before, limit) : 0),
      },
      events: {
        ...events,
        queued: async (limit) => (isKeeper() ? events.queued(limit) : []),
        forget: async (before, limit) => (isKeeper() ? events.forget(before, limit) : 0),
      },
      usage: {
        ...usage,
        begin: async (now) => (isKeeper() ? usage.begin(now) : undefined),
      },
    },
  }
}

function folderOf(database: Config['database']): string | undefined {
  return database.kind === 'sqlite' && database.path !== ':memory:'
    ? dirname(database.path)
    : undefined
}
