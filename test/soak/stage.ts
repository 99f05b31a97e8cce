import { devnetRelayers } from '../../src/devnet/accounts.js'
import { startReplicas } from '../faults/support/replicas.js'
import { type AuditedWorld, startWorld } from '../faults/support/world.js'
import { replicaTroubles, serviceTroubles, type Trouble } from './troubles.js'

/** The services under load, and what may go wrong with them. */
export interface Stage extends AuditedWorld {
  /** The address of a service that is asked now. */
  url(): string
  troubles: readonly Trouble[]
  close(): Promise<void>
}

/** Starts one service on SQLite, or several on one PostgreSQL. */
export async function startStage(replicas: number): Promise<Stage> {
  if (replicas === 1) {
    const world = await startWorld({ relayers: 2 })
    return { ...world, url: () => world.service().url, troubles: serviceTroubles(world) }
  }
  const world = await startReplicas({ replicas, relayers: devnetRelayers.length })
  let asked = 0
  const url = () => world.service(asked++ % replicas).url
  return { ...world, url, troubles: replicaTroubles(world, replicas) }
}
