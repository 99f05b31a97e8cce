import { type RpcProxy, startRpcProxy } from '../faults/support/rpc-proxy.js'
import { startWorld, type World } from './arcus.js'

/** A world in which each call of the service to its node passes a proxy. */
export interface ProxiedWorld extends World {
  /** Counts the calls, and makes them fail as a test says. */
  proxy: RpcProxy
}

/** Starts the service beside a fresh chain, with a proxy between the two. `stop` ends all three. */
export async function startProxiedWorld(env: Record<string, string>): Promise<ProxiedWorld> {
  const proxies: RpcProxy[] = []
  const world = await startWorld({
    env,
    async between(chainUrl) {
      proxies.push(await startRpcProxy(chainUrl))
      return (proxies[0] as RpcProxy).url
    },
  })
  const proxy = proxies[0] as RpcProxy
  return {
    ...world,
    proxy,
    async stop() {
      await world.stop()
      await proxy.close()
    },
  }
}
