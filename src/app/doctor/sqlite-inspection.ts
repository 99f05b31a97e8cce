import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { createBudgetStore } from '../../facilitator/journal/budgets.js'
import { schemaVersion } from '../../sql/migration-files.js'
import { createSqlReader } from '../../sql/sqlite/sql.js'
import type { DatabaseInspection } from './inspection.js'

/** Long enough to get between two commits of a service that runs on the file. */
const BUSY_TIMEOUT_MS = 2_000

/** Opens the file of a database, takes the right to write and gives it back. Never throws. */
export function inspectSqlite(path: string): DatabaseInspection {
  const wantedVersion = schemaVersion('sqlite')
  const disk = path === ':memory:' ? {} : inspectDisk(path)
  const nothing = { version: 0, wantedVersion, ...disk, async close() {} }
  if (path === ':memory:') return { ...nothing, state: 'absent' }
  if (!existsSync(path)) {
    const problem = problemOfFolder(path)
    return problem === undefined
      ? { ...nothing, state: 'absent' }
      : { ...nothing, state: 'unusable', problem }
  }
  try {
    const database = new Sqlite(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK')
      const version = Number(database.pragma('user_version', { simple: true }))
      const isKnown = version === wantedVersion
      return {
        state: 'writable',
        version,
        wantedVersion,
        ...disk,
        sizeBytes: statSync(path).size,
        ...(isKnown ? { budgets: createBudgetStore(createSqlReader(database)) } : {}),
        close: async () => void database.close(),
      }
    } catch (error) {
      database.close()
      throw error
    }
  } catch (error) {
    return { ...nothing, state: 'unusable', problem: (error as Error).message }
  }
}

/** Returns the nearest folder above the file that exists. */
function folderOf(path: string): string {
  let folder = dirname(resolve(path))
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}

function inspectDisk(path: string): { freeBytes?: number } {
  try {
    const { bavail, bsize } = statfsSync(folderOf(path))
    return { freeBytes: bavail * bsize }
  } catch {
    return {}
  }
}

function problemOfFolder(path: string): string | undefined {
  try {
    accessSync(folderOf(path), constants.W_OK)
    return undefined
  } catch {
    return 'its folder cannot be written'
  }
}
