import { readdirSync, readFileSync } from 'node:fs'
import { MigrationError } from './errors.js'

type Engine = 'sqlite' | 'postgres'

const folderOf = (engine: Engine) => new URL(`../../migrations/${engine}/`, import.meta.url)

/** Returns the migrations of an engine in order. The number of those that a database has is the version of its schema. */
function filesOf(engine: Engine): string[] {
  return readdirSync(folderOf(engine))
    .filter((file) => /^\d{4}[a-z-]*\.sql$/.test(file))
    .sort()
}

/** Returns the schema version that this version of Arcus knows. */
export function schemaVersion(engine: Engine): number {
  return filesOf(engine).length
}

interface Migration {
  /** The version that it leads to. */
  version: number
  file: string
  sql: string
}

/** Returns the migrations that a database of a version lacks. Throws `MigrationError` when a newer Arcus has made it. */
export function migrationsAfter(engine: Engine, present: number): Migration[] {
  const files = filesOf(engine)
  if (present > files.length) {
    throw new MigrationError(
      `the database has schema version ${present}, this version of Arcus knows ${files.length}: start the newer version`,
    )
  }
  return files.slice(present).map((file, i) => ({
    version: present + i + 1,
    file,
    sql: readFileSync(new URL(file, folderOf(engine)), 'utf8'),
  }))
}
