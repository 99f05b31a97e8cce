import pg from 'pg'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { findFaketime, findProgram } from '../faults/support/debian.js'
import { startHalves } from '../faults/support/halves.js'
import { type Replicas, startReplicas } from '../faults/support/replicas.js'
import { startTcpProxy, type TcpProxy } from '../faults/support/tcp-proxy.js'
import { type AuditedWorld, startWorld } from '../faults/support/world.js'
import {
  anyOf,
  chainTroubles,
  databaseTroubles,
  replicaTroubles,
  serviceTroubles,
  type Trouble,
} from './troubles.js'

/** The services under load, and what may go wrong with them. */
export interface Stage extends AuditedWorld {
  /** The address of a service that is asked now. */
  url(): string
  /** By kind; each kind is drawn from as often. */
  troubles: readonly (readonly Trouble[])[]
  /** What comes at a fixed pace besides. */
  steady?: { everyMs: number; trouble: Trouble }
  /** Returns the payments that the journal has as settled, and those that the directory counted. */
  countSettled?(): Promise<{ settled: number; counted: number }>
  close(): Promise<void>
}

/** Lets attackers set webhooks at receivers of their own on this machine. */
const webhooks = { PROBE_ALLOW_PRIVATE_HOSTS: 'true', WEBHOOK_KEY: 'ab'.repeat(32) }
/** A buyer whom strangers overtake hundreds of times would be refused for the gas that they burn, and here all must settle. */
const settings = { ...webhooks, FAILED_GAS_BUDGET_USD: '5' }
/** Seconds by which the clocks of replicas are off, where libfaketime is installed. */
const CLOCKS_OFF = [0, 7, -7]

/** The numbers of processes: of whole services, or of each half. */
export type Cast = { replicas: number } | { facilitators: number; directories: number }

/** Starts one service on SQLite, several on one PostgreSQL, or each half on its own. */
export function startStage(cast: Cast): Promise<Stage> {
  if ('facilitators' in cast) return startEachHalf(cast)
  return cast.replicas === 1 ? startOne() : startSeveral(cast.replicas)
}

async function startOne(): Promise<Stage> {
  const world = await startWorld({ relayers: 2, env: settings })
  const troubles = [chainTroubles(world), serviceTroubles(world)]
  return { ...world, url: () => world.service().url, troubles }
}

/** Gives each process a way of its own to the database, and a clock of its own. */
function createPlaces() {
  const library = findFaketime()
  const ways = new Map<number, TcpProxy>()

  async function envOf(i: number, databaseUrl: string): Promise<NodeJS.ProcessEnv> {
    const url = new URL(databaseUrl)
    const way = ways.get(i) ?? (await startTcpProxy(Number(url.port)))
    ways.set(i, way)
    url.port = String(way.port)
    const off = CLOCKS_OFF[i % CLOCKS_OFF.length] as number
    const clock = {
      LD_PRELOAD: library,
      FAKETIME: `${off < 0 ? '' : '+'}${off}s`,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    }
    return {
      ...settings,
      DATABASE_URL: url.href,
      ...(library !== undefined && off !== 0 && clock),
    }
  }

  return {
    envOf,
    ways: () => [...ways.values()],
    async close() {
      for (const way of ways.values()) await way.close()
    },
  }
}

async function startSeveral(replicas: number): Promise<Stage> {
  const places = createPlaces()
  const { envOf } = places
  const world = await startReplicas({ replicas, relayers: devnetRelayers.length, envOf })
  let asked = 0
  return {
    ...world,
    url: () => world.service(asked++ % replicas).url,
    troubles: [chainTroubles(world), replicaTroubles(world, places.ways())],
    async close() {
      await world.close()
      await places.close()
    },
  }
}

const KILL_MS = 20_000

/** Everybody asks the balancer. */
async function startEachHalf(cast: { facilitators: number; directories: number }): Promise<Stage> {
  const nginx = findProgram('nginx')
  if (nginx === undefined) throw new Error('nginx is needed: apt-get install nginx-light')
  const places = createPlaces()
  const { envOf } = places
  const world = await startHalves({ nginx, ...cast, relayers: devnetRelayers.length, envOf })
  const killOneOfEach: Trouble = {
    name: 'kill -9 of a facilitator and a directory',
    async run() {
      const victims = [anyOf(world.facilitators), anyOf(world.directories)]
      await Promise.all(victims.map((i) => world.service(i).crash()))
      await Promise.all(victims.map((i) => world.restart(i)))
    },
  }
  return {
    ...world,
    url: () => world.url,
    troubles: [chainTroubles(world), databaseTroubles(world, places.ways())],
    steady: { everyMs: KILL_MS, trouble: killOneOfEach },
    countSettled: () => countSettled(world),
    async close() {
      await world.close()
      await places.close()
    },
  }
}

async function countSettled({ databaseUrl }: Replicas) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const sum = async (text: string) => Number((await client.query(text)).rows[0].sum)
    return {
      settled: await sum("SELECT count(*) AS sum FROM jobs WHERE state = 'confirmed'"),
      counted: await sum(
        "SELECT sum(count) FROM activity_sums WHERE merchant_id = '' AND kind = 'settle' AND state = 'settled'",
      ),
    }
  } finally {
    await client.end()
  }
}
