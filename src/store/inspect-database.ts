import type { DatabaseInspection } from './inspection.js'
import type { DatabasePlace } from './open-stores.js'
import { inspectPostgres } from './postgres/inspection.js'
import { inspectSqlite } from './sqlite/inspection.js'

/** Looks at the database of the settings without changing it. Never rejects; close what it gives. */
export async function inspectDatabase(place: DatabasePlace): Promise<DatabaseInspection> {
  return place.kind === 'sqlite' ? inspectSqlite(place.path) : inspectPostgres(place.url)
}
