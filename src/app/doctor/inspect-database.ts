import type { DatabasePlace } from '../stores/open-stores.js'
import type { DatabaseInspection } from './inspection.js'
import { inspectSqlite } from './sqlite-inspection.js'

/** Reads the state of the database without changing it. Never rejects. The caller closes the inspection. */
export async function inspectDatabase(place: DatabasePlace): Promise<DatabaseInspection> {
  if (place.kind === 'sqlite') return inspectSqlite(place.path)
  const { inspectPostgres } = await import('./postgres-inspection.js')
  return inspectPostgres(place.url)
}
