import { createHash } from 'node:crypto'
import type { Address } from 'viem'
import type { SessionStore } from '../sessions.js'
import type { Database } from './database.js'

/** Asking for a nonce costs nothing, so the oldest give way. */
const MAX_NONCES = 10_000
/** How often it is looked whether there are too many. */
const TRIM_EVERY = 100

/** Sessions every replica knows. Who reads the table finds no id in it that would open one. */
export function createSessionStore(database: Database): SessionStore {
  let added = 0

  async function trim(now: number): Promise<void> {
    await database.run('DELETE FROM sessions WHERE expires_at <= $1', [now])
    await database.run(
      `DELETE FROM session_nonces WHERE expires_at <= $1 OR expires_at <= (
         SELECT expires_at FROM session_nonces ORDER BY expires_at DESC LIMIT 1 OFFSET ${MAX_NONCES})`,
      [now],
    )
  }

  return {
    async addNonce(nonce, expiresAt) {
      await database.run(
        'INSERT INTO session_nonces (nonce, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING',
        [nonce, expiresAt],
      )
      if (added++ % TRIM_EVERY === 0) await trim(Date.now())
    },
    async takeNonce(nonce) {
      const [row] = await database.once.rows<{ expires_at: number }>(
        'DELETE FROM session_nonces WHERE nonce = $1 RETURNING expires_at',
        [nonce],
      )
      return row?.expires_at
    },
    async addSession(id, { address, expiresAt }) {
      await database.run(
        'INSERT INTO sessions (digest, address, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [digestOf(id), address, expiresAt],
      )
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
