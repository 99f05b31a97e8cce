import { RpcUnavailableError } from './rpc-errors.js'
import {
  createNode,
  type Node,
  type RpcCall,
  type RpcObserver,
  type RpcOptions,
  type RpcResult,
} from './rpc-node.js'

export interface Rpc {
  /** One call on the preferred node, on the next ones when it cannot be asked. Throws `RpcUnavailableError` or `RpcResponseError`. */
  request(method: string, params: readonly unknown[], options?: RpcOptions): Promise<unknown>
  /** Many calls in one round trip; each has its own result. Throws `RpcUnavailableError`. */
  batch(calls: readonly RpcCall[], options?: RpcOptions): Promise<RpcResult[]>
  /** The same call on every node, each with its own answer; never throws. */
  everywhere(
    method: string,
    params: readonly unknown[],
    options?: RpcOptions,
  ): Promise<(RpcResult | { ok: false; error: RpcUnavailableError })[]>
  /** The preferred node must be one of these; another than at present only if that is not, or is much slower. */
  prefer(among: readonly number[]): void
  close(): Promise<void>
}

/** A node that failed is asked last for this long. */
const COOL_DOWN_MS = 5_000
/** A node that failed this quickly may be there the next moment. */
const FAST_FAILURE_MS = 500
/** A preferred node is left for one that is this many times as fast, and only when it is felt. */
const MUCH_SLOWER = 4
const SLOW_MS = 400
/** Arc and most providers refuse longer batches. */
const MAX_BATCH_CALLS = 100

/**
 * JSON-RPC over kept-alive connections to one or several nodes of the same chain.
 * Error texts never contain a node's address.
 */
export function createRpc(urls: readonly string[], observe?: RpcObserver): Rpc {
  const nodes = urls.map((url, index) => createNode(url, index, observe))
  let preferred = 0

  function order(): Node[] {
    const now = Date.now()
    const rotated = nodes.map((_, i) => nodes[(preferred + i) % nodes.length] as Node)
    return [
      ...rotated.filter((node) => node.coolUntil <= now),
      ...rotated.filter((node) => node.coolUntil > now),
    ]
  }

  /** Each node once; a lone node gets a second try when it failed fast, as a restarted one does. */
  async function withFailover<T>(ask: (node: Node) => Promise<T>): Promise<T> {
    const candidates = order()
    let lastError: unknown
    for (const node of candidates) {
      const startedAt = Date.now()
      try {
        return await ask(node)
      } catch (error) {
        if (!(error instanceof RpcUnavailableError)) throw error
        lastError = error
        node.coolUntil = Date.now() + COOL_DOWN_MS
        if (candidates.length > 1 || Date.now() - startedAt > FAST_FAILURE_MS) continue
        try {
          return await ask(node)
        } catch (again) {
          lastError = again
        }
      }
    }
    throw lastError
  }

  async function batchOn(node: Node, calls: readonly RpcCall[], options?: RpcOptions) {
    const results: RpcResult[] = []
    for (let start = 0; start < calls.length; start += MAX_BATCH_CALLS) {
      results.push(...(await node.send(calls.slice(start, start + MAX_BATCH_CALLS), options)))
    }
    return results
  }

  return {
    request: (method, params, options) =>
      withFailover(async (node) => {
        const [result] = await node.send([{ method, params }], options)
        return unwrap(result)
      }),
    batch: (calls, options) => withFailover((node) => batchOn(node, calls, options)),
    everywhere: (method, params, options) =>
      Promise.all(
        nodes.map(async (node) => {
          try {
            const [result] = await node.send([{ method, params }], options)
            return result as RpcResult
          } catch (error) {
            return { ok: false, error: error as RpcUnavailableError } as const
          }
        }),
      ),
    prefer(among) {
      const msOf = (index: number) => nodes[index]?.usualMs() ?? Number.POSITIVE_INFINITY
      const known = among.filter((index) => nodes[index] !== undefined)
      const [fastest] = known.sort((a, b) => msOf(a) - msOf(b))
      if (fastest === undefined) return
      const isSlow = msOf(preferred) > Math.max(SLOW_MS, MUCH_SLOWER * msOf(fastest))
      if (isSlow || !among.includes(preferred)) preferred = fastest
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()))
    },
  }
}

function unwrap(result: RpcResult | undefined): unknown {
  if (result === undefined) throw new RpcUnavailableError('the chain node sent an empty answer')
  if (!result.ok) throw result.error
  return result.value
}
