import { isQueryTooLarge, isRevert, RpcResponseError, RpcUnavailableError } from './rpc-errors.js'
import {
  createNode,
  isUnavailable,
  type Node,
  type NodeResult,
  type RpcCall,
  type RpcObserver,
  type RpcOptions,
  type RpcResult,
} from './rpc-node.js'
import { classifySendError } from './send-errors.js'

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
  ): Promise<NodeResult[]>
  /** The preferred node must be one of these; another than at present only if that is not, or is much slower. */
  prefer(among: readonly number[]): void
  close(): Promise<void>
}

/** A node that failed is asked last for this long. */
const COOL_DOWN_MS = 5_000
/** Nodes that failed this quickly may be there the next moment. */
const FAST_FAILURE_MS = 500
/** Then they are asked again after these pauses: one that was restarted, or that refuses some of its calls. */
const AGAIN_AFTER_MS = [0, 40]
/** A preferred node is left for one that is this many times as fast, and only when it is felt. */
const MUCH_SLOWER = 4
const SLOW_MS = 400
/** Codes of a call that is wrong in itself (JSON-RPC, EIP-1474): asked again it would be as wrong. */
const ofTheCall = new Set([-32700, -32600, -32601, -32602, -32004, -32006])
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

  /** One result a call: each node is asked for what the ones before left open, and all again if they failed fast. */
  async function ask(calls: readonly RpcCall[], options?: RpcOptions): Promise<NodeResult[]> {
    const results: NodeResult[] = []
    let open = calls.map((_, i) => i)
    await inRounds(async () => {
      const before = open.length
      for (const node of order()) {
        const asked = open.map((i) => calls[i] as RpcCall)
        const answers = await askInParts(node, asked, options)
        if (answers.some(isUnavailable)) node.coolUntil = Date.now() + COOL_DOWN_MS
        for (const [k, i] of open.entries()) {
          const answer = answers[k] as NodeResult
          // A node that said something is worth more than one that could not be asked.
          if (results[i] === undefined || !isUnavailable(answer)) results[i] = answer
        }
        open = open.filter((i) => isOpen(results[i], calls[i] as RpcCall))
        if (open.length === 0) return 'done'
      }
      return open.length < before ? 'nearer' : 'vain'
    })
    return results
  }

  return {
    async request(method, params, options) {
      const [result] = await ask([{ method, params }], options)
      return unwrap(result)
    },
    async batch(calls, options) {
      const results = await ask(calls, options)
      return results.map((result) => {
        if (!result.ok && !(result.error instanceof RpcResponseError)) throw result.error
        return result as RpcResult
      })
    },
    async everywhere(method, params, options) {
      let answers: NodeResult[] = []
      await inRounds(async () => {
        const sent = nodes.map((node) => node.send([{ method, params }], options))
        answers = (await Promise.all(sent)).flat()
        return answers.every((answer) => isOpen(answer, { method, params })) ? 'vain' : 'done'
      })
      return answers
    },
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

/** Runs until it is done, or has been in vain as often as allowed; again only while all goes fast. */
async function inRounds(round: () => Promise<'done' | 'nearer' | 'vain'>): Promise<void> {
  const startedAt = Date.now()
  const pauses = [...AGAIN_AFTER_MS]
  for (;;) {
    const came = await round()
    const pauseMs = came === 'nearer' ? 0 : pauses.shift()
    if (came === 'done' || pauseMs === undefined) return
    if (Date.now() - startedAt > FAST_FAILURE_MS) return
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

async function askInParts(
  node: Node,
  calls: readonly RpcCall[],
  options?: RpcOptions,
): Promise<NodeResult[]> {
  const results: NodeResult[] = []
  for (let start = 0; start < calls.length; start += MAX_BATCH_CALLS) {
    const part = await node.send(calls.slice(start, start + MAX_BATCH_CALLS), options)
    results.push(...part)
    // It hangs, or is gone: the other parts would fare no better.
    if (part.every(isUnavailable)) break
  }
  const [last] = results.slice(-1)
  return calls.map((_, i) => results[i] ?? (last as NodeResult))
}

/** Whether another node, or a moment, may say more. */
function isOpen(result: NodeResult | undefined, { method }: RpcCall): boolean {
  if (result === undefined) return true
  return (
    !result.ok && (!(result.error instanceof RpcResponseError) || isPassing(method, result.error))
  )
}

/** Its words say nothing of the call, as those of a quota or of a node's own trouble. */
function isPassing(method: string, error: RpcResponseError): boolean {
  if (ofTheCall.has(error.code) || isRevert(error) || isQueryTooLarge(method, error)) return false
  return classifySendError(error) === 'unknown'
}

function unwrap(result: NodeResult | undefined): unknown {
  if (result === undefined) throw new RpcUnavailableError('the chain node sent an empty answer')
  if (!result.ok) throw result.error
  return result.value
}
