import type Sqlite from 'better-sqlite3'
import type { Insertion, NewRow, Sql, SqlReader, Step, StepAnswer, Steps, Value } from '../sql.js'
import type { SqliteDatabase } from './database.js'
import type { GroupCommit } from './group-commit.js'

/** Writes how SQLite takes an array or rows that are one parameter. */
const setsInSqlite: Pick<SqlReader, 'among' | 'texts' | 'records' | 'grouped'> = {
  among: (column, parameter) => `${column} IN (SELECT value FROM json_each($${parameter}))`,
  texts: (parameter) => `json_each($${parameter})`,
  records(name, parameter, columns) {
    const named = Object.keys(columns).map((column) => `value ->> '${column}' AS ${column}`)
    return `(SELECT ${named.join(', ')} FROM json_each($${parameter})) AS ${name}`
  },
  grouped: (runGroup) => async (item) => {
    const [result] = await runGroup([item])
    return result as Awaited<ReturnType<typeof runGroup>>[number]
  },
}

/** Reads over a connection: of the service itself, or of a thread that only reads. */
export function createSqlReader(database: SqliteDatabase): SqlReader {
  const { all } = createStatements(database)
  return {
    ...setsInSqlite,
    all: async <Row>(text: string, values: readonly Value[] = []) => all(text, values) as Row[],
    get: async <Row>(text: string, values: readonly Value[] = []) =>
      all(text, values)[0] as Row | undefined,
  }
}

/** A commit runs on the event loop; this is below the 5 ms that no work may hold it. */
const MAX_COMMIT_MS = 4

/** Every write is a member of a group commit, in which its steps follow each other at once. */
export function createSql(database: SqliteDatabase, commit: GroupCommit): Sql {
  const { all, perform } = createStatements(database)
  // The clock of the process, which is the only one that writes.
  database.function('clock_ms', () => Date.now())
  const take = <Result>(begin: () => Steps<Result>) => {
    const steps = begin()
    let step = steps.next()
    while (step.done !== true) step = steps.next(perform(step.value))
    return step.value
  }
  return {
    ...createSqlReader(database),
    maxCommitMs: MAX_COMMIT_MS,
    now: 'clock_ms()',
    forUpdate: '',
    run: (text, values = [], { isDurable = true } = {}) => {
      const write = () => perform({ text, values }).changes
      return isDurable ? commit.write(write) : commit.writeUnsynced(write)
    },
    change: <Row>(text: string, values: readonly Value[] = []) =>
      commit.write(() => all(text, values) as Row[]),
    transaction: (begin, { isDurable = true } = {}) =>
      isDurable ? commit.write(() => take(begin)) : commit.writeUnsynced(() => take(begin)),
  }
}

/** Prepares each statement once. */
function createStatements(database: SqliteDatabase) {
  const prepared = new Map<string, PreparedStatement>()
  const insertions = new Map<Insertion, Sqlite.Statement>()

  function prepare(text: string): PreparedStatement {
    let known = prepared.get(text)
    if (known === undefined) {
      const statement = database.prepare(text)
      const { reader } = statement
      known = {
        statement,
        names: reader
          ? statement
              .raw()
              .columns()
              .map(({ name }) => name)
          : [],
      }
      prepared.set(text, known)
    }
    return known
  }

  function prepareInsertion(insertion: Insertion, row: NewRow): Sqlite.Statement {
    let statement = insertions.get(insertion)
    if (statement === undefined) {
      const { table, rest = '' } = insertion
      const columns = Object.keys(row)
      const names = columns.map((name) => `"${name}"`).join(', ')
      const values = columns.map((name) => `@${name}`).join(', ')
      statement = database.prepare(`INSERT INTO ${table} (${names}) VALUES (${values}) ${rest}`)
      insertions.set(insertion, statement)
    }
    return statement
  }

  const all = (text: string, values: readonly Value[]) => readRows(prepare(text), values)
  return {
    all,
    perform(step: Step): StepAnswer {
      if ('insertion' in step) {
        let changes = 0
        for (const row of step.rows) {
          changes += prepareInsertion(step.insertion, row).run(row).changes
        }
        return { rows: [], changes }
      }
      const known = prepare(step.text)
      return known.statement.reader
        ? { rows: readRows(known, step.values), changes: 0 }
        : { rows: [], changes: known.statement.run(...bound(step.values)).changes }
    },
  }
}

interface PreparedStatement {
  statement: Sqlite.Statement
  /** The names of the columns that it returns. */
  names: readonly string[]
}

/** Names the values of rows here, which takes two thirds of the time that the driver takes. */
function readRows({ statement, names }: PreparedStatement, values: readonly Value[]): unknown[] {
  return (statement.all(...bound(values)) as unknown[][]).map((row) => {
    const named: Record<string, unknown> = {}
    for (let i = 0; i < names.length; i++) named[names[i] as string] = row[i]
    return named
  })
}

/** SQLite reads `$1` as a parameter of the name 1. An array is JSON, which `json_each` takes apart. */
function bound(values: readonly Value[]): [] | [Record<number, unknown>] {
  if (values.length === 0) return []
  const named: Record<number, unknown> = {}
  values.forEach((value, i) => {
    named[i + 1] = Array.isArray(value) ? JSON.stringify(value) : value
  })
  return [named]
}
