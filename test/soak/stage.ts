import { devnetRelayers } from '../../src/devnet/accounts.js'
import { findFaketime } from '../faults/support/debian.js'
import { startReplicas } from '../faults/support/replicas.js'
import { startTcpProxy, type TcpProxy } from '../faults/support/tcp-proxy.js'
import { type AuditedWorld, startWorld } from '../faults/support/world.js'
import { chainTroubles, replicaTroubles, serviceTroubles, type Trouble } from './troubles.js'

/** The services under load, and what may go wrong with them. */
export interface Stage extends AuditedWorld {
  /** The address of a service that is asked now. */
  url(): string
  /** By kind; each kind is drawn from as often. */
  troubles: readonly (readonly Trouble[])[]
  close(): Promise<void>
}

/** Lets attackers set webhooks at receivers of their own on this machine. */
const webhooks = { PROBE_ALLOW_PRIVATE_HOSTS: 'true', WEBHOOK_KEY: 'ab'.repeat(32) }
/** A buyer whom strangers overtake hundreds of times would be refused for the gas that they burn, and here all must settle. */
const settings = { ...webhooks, FAILED_GAS_BUDGET_USD: '5' }
/** Seconds by which the clocks of replicas are off, where libfaketime is installed. */
const CLOCKS_OFF = [0, 7, -7]

/** Starts one service on SQLite, or several on one PostgreSQL. */
export function startStage(replicas: number): Promise<Stage> {
  return replicas === 1 ? startOne() : startSeveral(replicas)
}

async function startOne(): Promise<Stage> {
  const world = await startWorld({ relayers: 2, env: settings })
  const troubles = [chainTroubles(world), serviceTroubles(world)]
  return { ...world, url: () => world.service().url, troubles }
}

/** Each has its own way to the database, and a clock of its own. */
async function startSeveral(replicas: number): Promise<Stage> {
  const library = findFaketime()
  const ways = new Map<number, TcpProxy>()
  const world = await startReplicas({
    replicas,
    relayers: devnetRelayers.length,
    async envOf(i, databaseUrl) {
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
    },
  })
  let asked = 0
  return {
    ...world,
    url: () => world.service(asked++ % replicas).url,
    troubles: [chainTroubles(world), replicaTroubles(world, [...ways.values()])],
    async close() {
      await world.close()
      for (const way of ways.values()) await way.close()
    },
  }
}
