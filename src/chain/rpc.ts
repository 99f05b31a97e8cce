import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { asQuantity } from './abi.js'
import {
  classifySendError,
  isNodeTrouble,
  isQueryTooLarge,
  isRevert,
  RpcResponseError,
  RpcUnavailableError,
} from './rpc-errors.js'

/** JSON-RPC with one or several nodes of the same chain. */
export interface Rpc {
  /**
   * Makes one call on the preferred node, on the next ones when it cannot be asked. Throws `RpcUnavailableError` or
   * `RpcResponseError`.
   */
  request(method: string, params: readonly unknown[], options?: RpcOptions): Promise<unknown>
  /** Makes many calls in one round trip; each has its own result. Throws `RpcUnavailableError`. */
  batch(calls: readonly RpcCall[], options?: RpcOptions): Promise<RpcResult[]>
  /** Makes the same call on every node, each with its own answer; never throws. */
  everywhere(
    method: string,
    params: readonly unknown[],
    options?: RpcOptions,
  ): Promise<NodeResult[]>
  /** Prefers one of these nodes; the present one is kept if it is among them and not much slower. */
  prefer(among: readonly number[]): void
  close(): Promise<void>
}

export interface RpcCall {
  method: string
  params: readonly unknown[]
}

export type RpcResult = { ok: true; value: unknown } | { ok: false; error: RpcResponseError }

/** The answer of one node to one call, or the error that it could not be asked. */
export type NodeResult = RpcResult | { ok: false; error: RpcUnavailableError }

export interface RpcOptions {
  /** Milliseconds for one try on one node; the default bounds a read. */
  timeoutMs?: number
  /** The longest answer that is read, for calls whose answer a stranger can make long; bytes. */
  maxBytes?: number
}

/** Called for every try of a request, for metrics. */
export type RpcObserver = (event: {
  node: number
  methods: readonly string[]
  ms: number
  ok: boolean
}) => void

/** A node that failed is asked last for this long. */
const COOL_DOWN_MS = 5_000
/** Nodes that failed this quickly may be back the next moment. */
const FAST_FAILURE_MS = 500
/** Such nodes are asked again after these pauses: a node that was restarted, or that refuses some of its calls. */
const AGAIN_AFTER_MS = [0, 40]
/** A preferred node is left for one that is this many times as fast, and only when it is slow enough to be felt. */
const MUCH_SLOWER = 4
const SLOW_MS = 400
/** Codes of a call that is wrong in itself (JSON-RPC, EIP-1474): a second try would be as wrong. */
const ofTheCall = new Set([-32700, -32600, -32601, -32602, -32004, -32006])
/** Arc and most providers refuse longer batches. */
const MAX_BATCH_CALLS = 100

/** Makes kept-alive connections to the nodes. Error texts never contain a node's address. */
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

  /**
   * Returns one result per call. Each node gets the calls that earlier nodes left unanswered; if all fail quickly, the round
   * is repeated.
   */
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
          // An answer of a node is worth more than the error of one that could not be asked.
          if (results[i] === undefined || !isUnavailable(answer)) results[i] = answer
        }
        open = open.filter((i) => isOpen(results[i], calls[i] as RpcCall))
        if (open.length === 0) return 'done'
      }
      return open.length < before ? 'progress' : 'stuck'
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
        return answers.every((answer) => isOpen(answer, { method, params })) ? 'stuck' : 'done'
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

/** Runs a round until it is done, or has failed as often as allowed; it repeats only while rounds are fast. */
async function inRounds(round: () => Promise<'done' | 'progress' | 'stuck'>): Promise<void> {
  const startedAt = Date.now()
  const pauses = [...AGAIN_AFTER_MS]
  for (;;) {
    const came = await round()
    const pauseMs = came === 'progress' ? 0 : pauses.shift()
    if (came === 'done' || pauseMs === undefined) return
    if (Date.now() - startedAt > FAST_FAILURE_MS) return
    if (pauseMs > 0) await sleep(pauseMs)
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
    // The node hangs, or is gone: the other parts would fail too.
    if (part.every(isUnavailable)) break
  }
  const [last] = results.slice(-1)
  return calls.map((_, i) => results[i] ?? (last as NodeResult))
}

/** Returns whether another node, or a later try, may answer more. */
function isOpen(result: NodeResult | undefined, { method }: RpcCall): boolean {
  if (result === undefined) return true
  return (
    !result.ok && (!(result.error instanceof RpcResponseError) || isPassing(method, result.error))
  )
}

/** Returns whether an error says nothing about the call, as that of a quota or of a node's own trouble. */
function isPassing(method: string, error: RpcResponseError): boolean {
  if (ofTheCall.has(error.code) || isRevert(error) || isQueryTooLarge(method, error)) return false
  return classifySendError(error) === 'unknown'
}

function unwrap(result: NodeResult | undefined): unknown {
  if (result === undefined) throw new RpcUnavailableError('the chain node sent an empty answer')
  if (!result.ok) throw result.error
  return result.value
}

/** A read that takes longer is given to the next node: verify must answer within seconds. */
const READ_TIMEOUT_MS = 2_000
/** The largest answer that is read: the receipts of a full block are a few megabytes. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
const MAX_CONNECTIONS = 16

/**
 * Statuses of what stands before the node (keys, quotas, gateways), whatever the body says; nodes answer errors with 200
 * and 500.
 */
const refusals = new Set([401, 402, 403, 407, 408, 429, 502, 503, 504])

/** One JSON-RPC server. */
interface Node {
  /** Unix milliseconds until which the node is asked last. */
  coolUntil: number
  /** Returns how long it usually takes to answer or to fail, milliseconds. */
  usualMs(): number
  /** Sends calls, each with its own result: trouble with one says nothing about the others. Never throws. */
  send(calls: readonly RpcCall[], options?: RpcOptions): Promise<NodeResult[]>
  close(): Promise<void>
}

function createNode(url: string, index: number, observe: RpcObserver | undefined): Node {
  const target = new URL(url)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (target.username !== '') {
    const credentials = `${decodeURIComponent(target.username)}:${decodeURIComponent(target.password)}`
    headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  }
  const pool = new Pool(target.origin, {
    connections: MAX_CONNECTIONS,
    connectTimeout: 2_000,
    maxResponseSize: MAX_RESPONSE_BYTES,
  })
  const path = target.pathname + target.search
  let lastId = 0
  let usualMs = 0

  return {
    coolUntil: 0,
    usualMs: () => usualMs,
    async send(calls, options) {
      const firstId = lastId + 1
      lastId += calls.length
      const bodies = calls.map((call, i) => ({ jsonrpc: '2.0', id: firstId + i, ...call }))
      const body = JSON.stringify(bodies.length === 1 ? bodies[0] : bodies)
      const startedAt = performance.now()
      let ok = false
      try {
        const answer = await post(pool, path, headers, body, options)
        const results = matchResults(answer, firstId, calls)
        ok = !results.some(isUnavailable)
        return results
      } catch (error) {
        return calls.map(() => unavailable((error as Error).message))
      } finally {
        const methods = calls.map((call) => call.method)
        const ms = performance.now() - startedAt
        usualMs = (usualMs * 3 + ms) / 4
        observe?.({ node: index, methods, ms, ok })
      }
    },
    close: () => pool.destroy(),
  }
}

async function post(
  pool: Pool,
  path: string,
  headers: Record<string, string>,
  body: string,
  { timeoutMs = READ_TIMEOUT_MS, maxBytes }: RpcOptions = {},
): Promise<unknown> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeoutMs)
  try {
    const response = await pool.request({
      method: 'POST',
      path,
      headers,
      body,
      signal: abort.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    if (refusals.has(response.statusCode)) {
      await response.body.dump()
      throw new Error('refused')
    }
    if (/^text\/html\b/.test(String(response.headers['content-type']))) {
      await response.body.dump()
      throw new WebPageError()
    }
    if (maxBytes === undefined) return await response.body.json()
    return JSON.parse(await readUpTo(response.body, maxBytes))
  } catch (error) {
    if (abort.signal.aborted) {
      throw new RpcUnavailableError(`the chain node did not answer within ${timeoutMs} ms`)
    }
    const problem =
      error instanceof WebPageError
        ? 'the address of the chain node answered with a web page: it is no JSON-RPC node'
        : 'the chain node could not be reached or did not answer in JSON'
    throw new RpcUnavailableError(problem)
  } finally {
    clearTimeout(timer)
  }
}

/** The answer of an address that is no node. */
class WebPageError extends Error {
  override readonly name = 'WebPageError'
}

/** Reads a body as text. Throws when it is longer than so many bytes; leaving the loop ends the connection. */
async function readUpTo(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) throw new RangeError('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns whether nothing is known about what the chain would have answered. */
function isUnavailable(result: NodeResult): boolean {
  return !result.ok && result.error instanceof RpcUnavailableError
}

function unavailable(message: string): NodeResult {
  return { ok: false, error: new RpcUnavailableError(message) }
}

function matchResults(answer: unknown, firstId: number, calls: readonly RpcCall[]): NodeResult[] {
  const items = Array.isArray(answer) ? answer : [answer]
  const byId = new Map<unknown, unknown>()
  for (const item of items) {
    if (typeof item === 'object' && item !== null && 'id' in item) byId.set(item.id, item)
  }
  return calls.map(({ method }, i) => readResult(method, byId.get(firstId + i) ?? soleError(items)))
}

/** Returns the error of a node that refuses a whole request: one error without our id. */
function soleError(items: unknown[]): unknown {
  const [item] = items
  const isError = typeof item === 'object' && item !== null && 'error' in item
  return items.length === 1 && isError ? item : undefined
}

function readResult(method: string, item: unknown): NodeResult {
  if (typeof item !== 'object' || item === null) {
    return unavailable('the chain node left a call without an answer')
  }
  if ('error' in item && typeof item.error === 'object' && item.error !== null) {
    const { code, message, data } = item.error as Record<string, unknown>
    const error = new RpcResponseError(Number(code ?? 0), String(message ?? ''), data)
    if (isNodeTrouble(method, error)) return unavailable('the chain node could not serve the call')
    return { ok: false, error }
  }
  if (!('result' in item)) return unavailable('the chain node left a call without an answer')
  if (!fitsMethod(method, item.result)) {
    return unavailable('the chain node answered in another shape than the call has')
  }
  return { ok: true, value: item.result }
}

const isHex = (value: unknown) => typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value)
const isQuantity = (value: unknown) => asQuantity(value) !== undefined
const isList = (value: unknown) => value === null || Array.isArray(value)
/** Fits an object that the node may not hold; the reader checks it more closely. */
const isRecord =
  (...members: string[]) =>
  (value: unknown) =>
    value === null ||
    (typeof value === 'object' && members.every((member) => member in (value as object)))

const shapes: Record<string, (value: unknown) => boolean> = {
  eth_blockNumber: isQuantity,
  eth_call: isHex,
  eth_estimateGas: isQuantity,
  eth_getBalance: isQuantity,
  eth_getBlockByNumber: isRecord('number', 'timestamp'),
  eth_getBlockReceipts: isList,
  eth_getLogs: Array.isArray,
  eth_getTransactionCount: isQuantity,
  eth_getTransactionReceipt: isRecord('transactionHash', 'blockNumber'),
}

/** Returns whether a result can answer the method at all. If not, it counts as no answer, and another node may have one. */
function fitsMethod(method: string, value: unknown): boolean {
  return shapes[method]?.(value) ?? true
}
