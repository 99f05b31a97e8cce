import type { NodeStatus } from '@arcus/protocol/answers/service'
import type { RpcObserver } from '../../chain/rpc.js'

interface LastAnswer {
  ok: boolean
  /** Unix milliseconds. */
  at: number
  ms: number
}

export type NodeWatch = ReturnType<typeof createNodeWatch>

/** Remembers how each node answered last, for the status page. `now` is in Unix milliseconds. */
export function createNodeWatch(now: () => number) {
  const last = new Map<string, LastAnswer>()
  return {
    /** Returns the observer of a network's nodes, which passes on what it sees. */
    observe(network: string, next: RpcObserver | undefined): RpcObserver {
      return (event) => {
        const { node, ok, ms } = event
        last.set(`${network} ${node}`, { ok, at: now(), ms })
        next?.(event)
      }
    },
    /** Returns the nodes of a network in the order of the settings, by host alone: a path or a user may be a key. */
    nodesOf(network: string, urls: readonly string[]): NodeStatus[] {
      return urls.map((url, index) => {
        const host = new URL(url).hostname
        const seen = last.get(`${network} ${index}`)
        if (seen === undefined) return { host, answers: null, at: null, ms: null }
        const { ok, at, ms } = seen
        return { host, answers: ok, at: new Date(at).toISOString(), ms: Math.round(ms) }
      })
    },
  }
}
