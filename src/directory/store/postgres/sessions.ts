import { createHash } from 'node:crypto'
import type { Address } from 'viem'
import type { PostgresDatabase } from '../../../sql/postgres/database.js'
import { clockMs } from '../../../sql/postgres/sql.js'
import { nonceBounds, type SessionStore, sessionBounds } from '../sessions.js'

/** After how many new rows to check whether there are too many in all. */
const TRIM_EVERY = 100

type SessionTable = 'session_nonces' | 'sessions'
type SessionColumn = 'address' | 'caller' | 'block'

/** Keeps sessions for every replica. The table holds only digests of ids: a reader of it cannot use any session. */
export function createSessionStore(database: PostgresDatabase): SessionStore {
  let added = 0

  /** Drops the oldest rows that have this value in common. */
  async function trimGroup(
    table: SessionTable,
    column: SessionColumn,
    value: string,
    most: number,
  ) {
    await database.run(
      `DELETE FROM ${table} WHERE ctid IN (
         SELECT ctid FROM ${table} WHERE ${column} = $1 ORDER BY expires_at DESC OFFSET ${most})`,
      [value],
    )
  }

  async function trimAll(table: SessionTable, most: number): Promise<void> {
    await database.run(
      `DELETE FROM ${table} WHERE expires_at <= ${clockMs} OR expires_at <= (
         SELECT expires_at FROM ${table} ORDER BY expires_at DESC LIMIT 1 OFFSET ${most})`,
    )
  }

  async function trimNowAndThen(): Promise<void> {
    if (added++ % TRIM_EVERY !== 0) return
    await trimAll('session_nonces', nonceBounds.inAll)
    await trimAll('sessions', sessionBounds.inAll)
  }

  return {
    async addNonce(nonce, expiresAt, { caller, block }) {
      await database.run(
        `INSERT INTO session_nonces (nonce, expires_at, caller, block) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING`,
        [nonce, expiresAt, caller, block],
      )
      await trimGroup('session_nonces', 'caller', caller, nonceBounds.ofCaller)
      await trimGroup('session_nonces', 'block', block, nonceBounds.ofBlock)
      await trimNowAndThen()
    },
    async takeNonce(nonce) {
      const [row] = await database.once.rows<{ expires_at: number }>(
        'DELETE FROM session_nonces WHERE nonce = $1 RETURNING expires_at',
        [nonce],
      )
      return row?.expires_at
    },
    async addSession(id, { address, expiresAt }, { caller, block }) {
      await database.run(
        `INSERT INTO sessions (digest, address, expires_at, caller, block) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING`,
        [digestOf(id), address, expiresAt, caller, block],
      )
      await trimGroup('sessions', 'address', address, sessionBounds.ofAddress)
      await trimGroup('sessions', 'caller', caller, sessionBounds.ofCaller)
      await trimGroup('sessions', 'block', block, sessionBounds.ofBlock)
      await trimNowAndThen()
    },
    async findSession(id) {
      const [row] = await database.rows<{ address: Address; expires_at: number }>(
        'SELECT address, expires_at FROM sessions WHERE digest = $1',
        [digestOf(id)],
      )
      return row && { address: row.address, expiresAt: row.expires_at }
    },
    async removeSession(id) {
      await database.run('DELETE FROM sessions WHERE digest = $1', [digestOf(id)])
    },
  }
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}
