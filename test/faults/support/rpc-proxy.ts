import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { type Hex, keccak256 } from 'viem'

export type RpcAnswer = { result: unknown } | { error: { code: number; message: string } }

/** One JSON-RPC call on its way through, alone or as a member of a batch. */
export interface ProxiedCall {
  method: string
  params: readonly unknown[]
  /** Asks the real node, with other parameters if given. */
  forward(params?: readonly unknown[]): Promise<RpcAnswer>
}

/** Answers in place of the node. Throws `ConnectionDropped` to close the socket without an answer. */
export type Behaviour = (call: ProxiedCall) => Promise<RpcAnswer>

export class ConnectionDropped extends Error {
  override readonly name = 'ConnectionDropped'
}

export type Phase = 'before' | 'after'

export interface RpcProxy {
  url: string
  /** Lets the calls of a method (`*` is any) behave otherwise; the newest fault goes first. Answers how to lift it. */
  fault(method: string, behaviour: Behaviour, options?: { times?: number }): () => void
  /** Runs `hook` before a call is forwarded or before its answer goes back, and waits for it. */
  onCall(method: string, phase: Phase, hook: (call: ProxiedCall) => unknown): () => void
  /** Lifts every fault and hook. */
  mend(): void
  /** Returns how often a method was called. */
  count(method: string): number
  /** When each transaction first came by, Unix milliseconds, whatever became of it. */
  sentAt: ReadonlyMap<Hex, number>
  close(): Promise<void>
}

interface Fault {
  method: string
  behaviour: Behaviour
  left: number
}

interface Hook {
  method: string
  phase: Phase
  run(call: ProxiedCall): unknown
}

type WireCall = { id: unknown; method: string; params?: unknown[] }

/** Starts a JSON-RPC proxy on loopback whose faults a test sets call by call. */
export async function startRpcProxy(target: string): Promise<RpcProxy> {
  const pool = new Pool(target, { connections: 64 })
  const counts = new Map<string, number>()
  const sentAt = new Map<Hex, number>()
  let faults: Fault[] = []
  let hooks: Hook[] = []

  async function ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    const { body } = await pool.request({
      method: 'POST',
      path: '/',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await body.json()) as { result?: unknown; error?: never }
    return error === undefined ? { result } : { error }
  }

  function takeFault(method: string): Behaviour | undefined {
    const fault = faults.find((it) => it.left > 0 && matches(it.method, method))
    if (fault === undefined) return undefined
    fault.left--
    return fault.behaviour
  }

  async function runHooks(phase: Phase, call: ProxiedCall): Promise<void> {
    for (const hook of [...hooks]) {
      if (hook.phase === phase && matches(hook.method, call.method)) await hook.run(call)
    }
  }

  async function answer({ id, method, params = [] }: WireCall) {
    counts.set(method, (counts.get(method) ?? 0) + 1)
    if (method === 'eth_sendRawTransaction') {
      const hash = keccak256(params[0] as Hex)
      if (!sentAt.has(hash)) sentAt.set(hash, Date.now())
    }
    const call: ProxiedCall = { method, params, forward: (other = params) => ask(method, other) }
    const behaviour = takeFault(method)
    await runHooks('before', call)
    const answered = await (behaviour === undefined ? call.forward() : behaviour(call))
    await runHooks('after', call)
    return { jsonrpc: '2.0', id, ...answered }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = JSON.parse(await readText(request)) as WireCall | WireCall[]
      const answered = Array.isArray(body)
        ? await Promise.all(body.map(answer))
        : await answer(body)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answered))
    } catch {
      // Also when the node itself is gone: what stands before it would close the connection too.
      request.socket.destroy()
    }
  }

  const server = createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault(method, behaviour, { times = Number.POSITIVE_INFINITY } = {}) {
      const fault = { method, behaviour, left: times }
      faults.unshift(fault)
      return () => {
        faults = faults.filter((it) => it !== fault)
      }
    },
    onCall(method, phase, run) {
      const hook = { method, phase, run }
      hooks.push(hook)
      return () => {
        hooks = hooks.filter((it) => it !== hook)
      }
    },
    mend() {
      faults = []
      hooks = []
    },
    sentAt,
    count: (method) => counts.get(method) ?? 0,
    async close() {
      server.close()
      server.closeAllConnections()
      await pool.destroy()
    },
  }
}

function matches(wanted: string, method: string): boolean {
  return wanted === '*' || wanted === method
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
