import type { DatabaseInspection } from '../store/stores.js'
import { type Finding, fail, ok, warn } from './finding.js'

const GIB = 1024 ** 3
const MIB = 1024 ** 2
/** Time to make room, and the point at which a busy hour could fill the disk. */
const LOW_BYTES = 2 * GIB
const EMPTY_BYTES = 200 * MIB

/** Whether the journal can be kept: the file, its schema, and room for what comes. */
export function checkDatabase(inspection: DatabaseInspection): Finding[] {
  return [checkFile(inspection), ...checkRoom(inspection)]
}

function checkFile({ state, version, wantedVersion, problem }: DatabaseInspection): Finding {
  const name = 'database'
  if (state === 'unusable') {
    const mend =
      'Let the service write the database of DATABASE_URL: the file and its folder, or the server with its user. If a file is damaged, restore a backup: docs/operations.md.'
    return fail(name, `it cannot be used: ${problem}`, mend)
  }
  if (state === 'absent') return ok(name, 'there is none yet; the first start makes it')
  if (version > wantedVersion) {
    return fail(
      name,
      `its schema has version ${version}, this version of Arcus knows ${wantedVersion}`,
      'Start the newer version of Arcus, or restore the backup made before it was started.',
    )
  }
  if (version < wantedVersion) {
    return warn(
      name,
      `its schema has version ${version}; the next start brings it to ${wantedVersion}`,
      'Back it up first: npm run backup -- FILE, or pg_dump.',
    )
  }
  return ok(name, `writable, schema version ${version}`)
}

function checkRoom({ freeBytes, sizeBytes = 0 }: DatabaseInspection): Finding[] {
  if (freeBytes === undefined) return []
  const name = 'disk'
  const detail = `${describeBytes(freeBytes)} free; the database has ${describeBytes(sizeBytes)}`
  const mend = 'Make room on the disk of DATABASE_URL: without it nothing can be settled.'
  if (freeBytes < EMPTY_BYTES) return [fail(name, detail, mend)]
  if (freeBytes < LOW_BYTES) return [warn(name, detail, mend)]
  return [ok(name, detail)]
}

function describeBytes(bytes: number): string {
  return bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${Math.round(bytes / MIB)} MiB`
}
