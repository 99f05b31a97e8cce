import { spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort, superviseChild } from '../../../src/devnet/process.js'
import { until } from './world.js'

/** PgBouncer before a PostgreSQL. */
export interface Pooler {
  /** Returns the URL of a database behind the pooler. */
  urlOf(databaseUrl: string): string
  close(): Promise<void>
}

export type PoolMode = 'session' | 'transaction' | 'statement'

/** PgBouncer does not run as root. */
const NOBODY = 65_534
const STOP_GRACE_MS = 2_000

export async function startPooler(
  pgbouncer: string,
  postgresPort: number,
  mode: PoolMode,
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-pgbouncer-'))
  const port = await freePort()
  const users = join(folder, 'users.txt')
  writeFileSync(users, '"postgres" ""\n')
  const path = join(folder, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${postgresPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    `pool_mode = ${mode}`,
    'default_pool_size = 45',
    'max_client_conn = 200',
    '',
  ]
  writeFileSync(path, lines.join('\n'))
  const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  chmodSync(folder, 0o755)
  if ('uid' in as) chownSync(folder, NOBODY, NOBODY)
  const child = spawn(pgbouncer, ['-q', path], { ...as, cwd: folder, stdio: 'ignore' })
  const { stop } = superviseChild(child, STOP_GRACE_MS)
  const close = async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('the pooler answers', () => answers(port), 30_000)
  } catch (error) {
    await close()
    throw error
  }
  return {
    urlOf(databaseUrl) {
      const url = new URL(databaseUrl)
      url.port = String(port)
      return url.href
    },
    close,
  }
}

async function answers(port: number): Promise<boolean> {
  const place = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' }
  const client = new pg.Client(place)
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
