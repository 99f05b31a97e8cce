import { Pool } from 'undici'
import { fitsMethod } from './answer-shapes.js'
import { isNodeTrouble, RpcResponseError, RpcUnavailableError } from './rpc-errors.js'

export interface RpcCall {
  method: string
  params: readonly unknown[]
}

export type RpcResult = { ok: true; value: unknown } | { ok: false; error: RpcResponseError }

/** What one node said to one call, or that it could not be asked. */
export type NodeResult = RpcResult | { ok: false; error: RpcUnavailableError }

export interface RpcOptions {
  /** Milliseconds for one try on one node; the default bounds a read. */
  timeoutMs?: number
}

/** Told of every call that was tried, for metrics. */
export type RpcObserver = (event: {
  node: number
  methods: readonly string[]
  ms: number
  ok: boolean
}) => void

/** A read that takes longer is given to the next node: verify must answer within seconds. */
const READ_TIMEOUT_MS = 2_000
/** The largest answer that is read: the receipts of a full block are a few megabytes. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
const MAX_CONNECTIONS = 16

/** Statuses of who stands before the node (keys, quotas, gateways), whatever the body says; nodes answer errors with 200 and 500. */
const refusals = new Set([401, 402, 403, 407, 408, 429, 502, 503, 504])

/** One JSON-RPC server. */
export interface Node {
  /** Unix milliseconds until which it is asked last. */
  coolUntil: number
  /** How long it usually takes to answer or to fail, milliseconds. */
  usualMs(): number
  /** Each call has its own result: trouble with one says nothing about the others. Never throws. */
  send(calls: readonly RpcCall[], options?: RpcOptions): Promise<NodeResult[]>
  close(): Promise<void>
}

export function createNode(url: string, index: number, observe: RpcObserver | undefined): Node {
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
        const answer = await post(pool, path, headers, body, options?.timeoutMs ?? READ_TIMEOUT_MS)
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
  timeoutMs: number,
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
    return await response.body.json()
  } catch {
    const problem = abort.signal.aborted
      ? `the chain node did not answer within ${timeoutMs} ms`
      : 'the chain node could not be reached or did not answer in JSON'
    throw new RpcUnavailableError(problem)
  } finally {
    clearTimeout(timer)
  }
}

/** Whether nothing is known of what the chain would have said. */
export function isUnavailable(result: NodeResult): boolean {
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

/** A node that refuses a whole request answers one error without our id. */
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
