/**
 * SQL that is written once for SQLite and PostgreSQL. Parameters are `$1`, `$2` and so on; an array is one parameter.
 * The few differences of the engines are members of `Sql`.
 *
 * A transaction is a generator of statements (`Steps`): `yield*` stands where `await` would stand. SQLite runs all its
 * steps at once inside a group commit, so that nothing else on the connection comes between them, whatever another
 * request awaits meanwhile. PostgreSQL waits for the answer to each step on a connection of its own. A step can only be
 * a statement: no transaction waits for anything but the database.
 */
export type Value = string | number | bigint | null | readonly string[] | readonly number[]

/** A statement that inserts any number of rows; `rest` is what follows the values: `ON CONFLICT …`. */
export interface Insertion {
  table: string
  /** Columns that order the rows, so that two transactions which insert the same keys wait for each other in turn. */
  order?: readonly string[]
  rest?: string
}

/** The values of a row by column. All rows of one insertion have the same columns. */
export type NewRow = Readonly<Record<string, Value>>

export type Step =
  | { text: string; values: readonly Value[] }
  | { insertion: Insertion; rows: readonly NewRow[] }

export interface StepAnswer {
  rows: unknown[]
  /** Rows that an insertion, or a statement which returns no rows, has changed. */
  changes: number
}

export type Steps<Result> = Generator<Step, Result, StepAnswer>

export function* all<Row>(text: string, values: readonly Value[] = []): Steps<Row[]> {
  return (yield { text, values }).rows as Row[]
}

export function* get<Row>(text: string, values: readonly Value[] = []): Steps<Row | undefined> {
  return (yield* all<Row>(text, values))[0]
}

/** Returns how many rows were changed. */
export function* run(text: string, values: readonly Value[] = []): Steps<number> {
  return (yield { text, values }).changes
}

/** Inserts rows; returns how many were inserted or updated. */
export function* insertAll(insertion: Insertion, rows: readonly NewRow[]): Steps<number> {
  return rows.length === 0 ? 0 : (yield { insertion, rows }).changes
}

/** Thrown in a transaction that another one got ahead of: it is rolled back and begins again. */
export class TransactionConflict extends Error {
  override readonly name = 'TransactionConflict'
}

/** Reads with one statement at a time. While PostgreSQL cannot be reached, it is asked again for a few seconds. */
export interface SqlReader {
  all<Row>(text: string, values?: readonly Value[]): Promise<Row[]>
  get<Row>(text: string, values?: readonly Value[]): Promise<Row | undefined>
  /** Returns the condition that a column equals a member of the array which is this parameter. */
  among(column: string, parameter: number): string
  /** Returns the table of one column, `value`, with the members of the array of texts which is this parameter. */
  texts(parameter: number): string
  /** Returns the table `name` with the rows which this parameter holds as JSON (`asJson`); columns have PostgreSQL's types. */
  records(name: string, parameter: number, columns: Readonly<Record<string, string>>): string
  /**
   * Makes a function for one item from a statement about many. PostgreSQL runs it for all items that come together
   * (`postgres/groups.ts`); SQLite, where a statement costs no round trip, for each alone.
   */
  grouped: Grouped
}

/**
 * `runGroup` resolves with one result for each item, in their order, and does everything or nothing. Of each key in `keysOf`
 * one item at a time is under way.
 */
type Grouped = <Item, Result>(
  runGroup: (items: readonly Item[]) => Promise<readonly Result[]>,
  keysOf?: (item: Item) => readonly string[],
) => (item: Item) => Promise<Result>

/** Returns rows as one parameter. Large numbers travel as texts, which the engines read without loss. */
export function asJson(rows: readonly NewRow[]): string {
  return JSON.stringify(rows, (_name, value: unknown) => {
    if (typeof value === 'bigint') return value.toString()
    // PostgreSQL has no U+0000 in texts, and no half of a surrogate pair alone.
    return typeof value === 'string' ? value.replaceAll(/[\0\p{Surrogate}]/gu, '\ufffd') : value
  })
}

interface TransactionOptions {
  /** Only one transaction at a time holds a lock of this name or number. SQLite has one writer anyway. */
  lock?: number | string
  /** Whether the commit is on disk when the promise resolves; if not, a power cut may take it back. True by default. */
  isDurable?: boolean
}

/** Reads and writes. */
export interface Sql extends SqlReader {
  /** The time, in milliseconds, that one commit should not exceed because it holds the event loop; infinite on a server. */
  maxCommitMs: number
  /** The time of the database, Unix milliseconds: an expression. */
  now: string
  /** Ends a `SELECT` whose rows no other transaction may change before this one ends. */
  forUpdate: string
  /**
   * Runs one statement in a durable commit of its own and resolves with the number of changed rows. It must be harmless
   * when it happens twice: a lost answer of PostgreSQL makes it run again.
   */
  run(
    text: string,
    values?: readonly Value[],
    options?: Pick<TransactionOptions, 'isDurable'>,
  ): Promise<number>
  /** The same for a statement that returns the rows it changed. */
  change<Row>(text: string, values?: readonly Value[]): Promise<Row[]>
  /**
   * Runs steps in one commit: all of them or none. `begin` may be called again after a conflict with another transaction,
   * so it does nothing but read and write rows. A lost answer is not tried again: the promise rejects.
   */
  transaction<Result>(begin: () => Steps<Result>, options?: TransactionOptions): Promise<Result>
}
