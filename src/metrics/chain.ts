import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { RpcObserver } from '../chain/rpc.js'

/** From a node in the same rack to the timeout of a send. */
const RPC_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]

/**
 * Counts calls to the chain's nodes. A node is named by its place in the settings, from 0: its address may hold
 * an access key.
 */
export function createChainMetrics(registry: Registry): (network: string) => RpcObserver {
  const registers = [registry]
  const requests = new Counter({
    name: 'arcus_rpc_requests_total',
    help: 'JSON-RPC calls that were tried; members of a batch count one each.',
    labelNames: ['network', 'node', 'method', 'ok'],
    registers,
  })
  const seconds = new Histogram({
    name: 'arcus_rpc_seconds',
    help: 'Time of one round trip to a node, whether it succeeded or not.',
    labelNames: ['network', 'node'],
    buckets: RPC_BUCKETS,
    registers,
  })
  const up = new Gauge({
    name: 'arcus_rpc_node_up',
    help: 'Whether the last round trip to the node succeeded.',
    labelNames: ['network', 'node'],
    registers,
  })

  return (network) => {
    return ({ node: index, methods, ms, ok }) => {
      const node = String(index)
      for (const [method, count] of countEach(methods)) {
        requests.inc({ network, node, method, ok: String(ok) }, count)
      }
      seconds.observe({ network, node }, ms / 1000)
      up.set({ network, node }, ok ? 1 : 0)
    }
  }
}

function countEach(methods: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const method of methods) counts.set(method, (counts.get(method) ?? 0) + 1)
  return counts
}
