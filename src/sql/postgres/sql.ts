import {
  asJson,
  type Insertion,
  type NewRow,
  type Sql,
  type SqlReader,
  type Step,
  type StepAnswer,
  type Steps,
  type Value,
} from '../sql.js'
import type { PostgresDatabase, Queries } from './database.js'
import { inGroups } from './groups.js'

/** SQL for the clock of the database, Unix milliseconds: the clocks of replicas may differ by seconds. */
export const clockMs = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

export function createSqlReader(database: Queries): SqlReader {
  return {
    all: (text, values) => database.rows(text, values),
    get: async <Row>(text: string, values?: readonly Value[]) =>
      (await database.rows<Row>(text, values))[0],
    among: (column, parameter) => `${column} = ANY($${parameter})`,
    texts: (parameter) => `unnest($${parameter}::text[]) AS texts (value)`,
    records(name, parameter, columns) {
      const typed = Object.entries(columns).map(([column, type]) => `${column} ${type}`)
      return `json_to_recordset($${parameter}) AS ${name} (${typed.join(', ')})`
    },
    grouped: inGroups,
  }
}

export function createSql(database: PostgresDatabase): Sql {
  return {
    ...createSqlReader(database),
    maxCommitMs: Number.POSITIVE_INFINITY,
    now: clockMs,
    forUpdate: 'FOR UPDATE',
    run: (text, values) => database.run(text, values),
    change: (text, values) => database.rows(text, values),
    // Not tried twice: a step may count.
    transaction: (begin, { lock } = {}) =>
      database.once.inTransaction(async (queries) => {
        if (lock !== undefined) {
          const key = typeof lock === 'number' ? '$1' : 'hashtextextended($1, 0)'
          await queries.run(`SELECT pg_advisory_xact_lock(${key})`, [lock])
        }
        return take(queries, begin())
      }),
  }
}

async function take<Result>(queries: Queries, steps: Steps<Result>): Promise<Result> {
  let step = steps.next()
  while (step.done !== true) step = steps.next(await perform(queries, step.value))
  return step.value
}

async function perform(queries: Queries, step: Step): Promise<StepAnswer> {
  if ('insertion' in step) {
    const { insertion, rows } = step
    return queries.query(textOf(insertion, rows[0] ?? {}), [asJson(rows)])
  }
  return queries.query(step.text, step.values)
}

const texts = new Map<Insertion, string>()

/** Returns the one statement that inserts any number of rows, given as JSON. */
function textOf(insertion: Insertion, row: NewRow): string {
  let text = texts.get(insertion)
  if (text === undefined) {
    const { table, order, rest = '' } = insertion
    const names = Object.keys(row)
      .map((name) => `"${name}"`)
      .join(', ')
    const ordered = order === undefined ? '' : `ORDER BY ${order.join(', ')}`
    text = `INSERT INTO ${table} (${names}) SELECT ${names}
      FROM json_populate_recordset(NULL::${table}, $1) ${ordered} ${rest}`
    texts.set(insertion, text)
  }
  return text
}
