import { freePort } from '../../../src/devnet/process.js'
import { startNginx } from './nginx.js'
import { type Replicas, startReplicas } from './replicas.js'

/** Facilitators and then directories, each a process of its own, behind a balancer that routes by path. */
export interface Halves extends Replicas {
  /** The address of the balancer, which the client asks. */
  url: string
  facilitators: readonly number[]
  directories: readonly number[]
}

export async function startHalves({
  nginx,
  facilitators,
  directories,
  env,
  envOf,
  ...options
}: {
  nginx: string
  facilitators: number
  directories: number
} & Omit<Parameters<typeof startReplicas>[0], 'replicas' | 'ports' | 'frontUrl'>): Promise<Halves> {
  const replicas = facilitators + directories
  const ports: number[] = []
  for (let i = 0; i < replicas; i++) ports.push(await freePort())
  const balancer = await startNginx(nginx, {
    facilitators: ports.slice(0, facilitators),
    directories: ports.slice(facilitators),
  })
  const { url } = balancer
  const isFacilitator = (i: number) => i < facilitators
  try {
    const world = await startReplicas({
      ...options,
      replicas,
      ports,
      frontUrl: url,
      env: { BASE_URL: url, DIRECTORY_URL: url, ...env },
      envOf: async (i, databaseUrl) => ({
        SERVE_ONLY: isFacilitator(i) ? 'facilitator' : 'directory',
        // Not even a key that is no key is read.
        ...(!isFacilitator(i) && { RELAYER_PRIVATE_KEYS: 'none of these' }),
        ...(await envOf?.(i, databaseUrl)),
      }),
    })
    const numbers = ports.map((_, i) => i)
    return {
      ...world,
      url,
      facilitators: numbers.filter(isFacilitator),
      directories: numbers.filter((i) => !isFacilitator(i)),
      async close() {
        await world.close()
        await balancer.close()
      },
    }
  } catch (error) {
    await balancer.close()
    throw error
  }
}
