import { get, run, type Sql } from '../../sql/sql.js'

/** A decision of an operator. */
interface AuditEntry {
  /** Unix milliseconds. */
  at: number
  /** The person or the process, as in `alice@host`. */
  actor: string
  /** One word, such as `block` or `hide`. */
  action: string
  /** The merchant, address or file that it is about. */
  subject: string
  /** The reason, or the values that were set. */
  details: string
}

/** The action by which each start notes its relayer wallets. */
export const RELAYERS_NOTED = 'rotate'

const insertion =
  'INSERT INTO audit (at, actor, action, subject, details) VALUES ($1, $2, $3, $4, $5)'
const newest = 'SELECT subject FROM audit WHERE action = $1 ORDER BY id DESC LIMIT 1'

/** Keeps the decisions of operators. The database itself refuses to change or remove an entry. */
export function createAuditStore(sql: Sql) {
  return {
    append: (entry: AuditEntry): Promise<void> => sql.transaction(() => insert(entry)),
    /** Appends the entry unless the newest one of its action has the same subject. Resolves with whether it did. */
    appendChange: (entry: AuditEntry): Promise<boolean> =>
      sql.transaction(
        function* () {
          const before = yield* get<{ subject: string }>(newest, [entry.action])
          if (before?.subject === entry.subject) return false
          yield* insert(entry)
          return true
        },
        // Replicas that start together would each find that nothing is there.
        { lock: 'audit' },
      ),
    /** Every subject that an action ever had. */
    async subjectsOf(action: string): Promise<string[]> {
      const text = 'SELECT DISTINCT subject FROM audit WHERE action = $1'
      return (await sql.all<{ subject: string }>(text, [action])).map(({ subject }) => subject)
    },
    /** The newest entries, oldest of them first. */
    async list(limit: number): Promise<AuditEntry[]> {
      const entries = await sql.all<AuditEntry>(
        'SELECT at, actor, action, subject, details FROM audit ORDER BY id DESC LIMIT $1',
        [limit],
      )
      return entries.reverse()
    },
  }
}

export type AuditStore = ReturnType<typeof createAuditStore>

function* insert({ at, actor, action, subject, details }: AuditEntry) {
  yield* run(insertion, [at, actor, action, subject, details])
}
