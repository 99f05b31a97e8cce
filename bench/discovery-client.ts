import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client } from 'undici'
import type { LoopTurns } from './loop-turns.js'

/** Median time of a kind of question at a size of the catalog. */
export interface Measured {
  size: number
  name: string
  p50Ms: number
}

/** The figures that the server of the bench reports about itself. */
export interface ServerState extends LoopTurns {
  rssMb: number
  /** Processor time of all its threads since it was started. */
  cpuMs: number
}

export interface BenchServer {
  /** How long reading the catalog took, and the turns of the event loop meanwhile. */
  started: { readMs: number } & LoopTurns
  ask(path: string, method?: 'GET' | 'POST'): Promise<{ ms: number; body: Record<string, unknown> }>
  /** Since the last look. */
  state(): Promise<ServerState>
  stop(): Promise<void>
}

/** Starts the discovery routes over a seeded file in a process of its own; resolves once the catalog is read. */
export async function startBenchServer(file: string): Promise<BenchServer> {
  const script = new URL('discovery-server.ts', import.meta.url).pathname
  const server = spawn(process.execPath, ['--import', 'tsx', script, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [hello] = (await once(createInterface(server.stdout), 'line')) as [string]
  const { port, ...started } = JSON.parse(hello)
  const client = new Client(`http://127.0.0.1:${port}`)

  async function ask(path: string, method: 'GET' | 'POST' = 'GET') {
    const startedAt = performance.now()
    const { statusCode, body } = await client.request({ method, path })
    const bytes = await body.arrayBuffer()
    const ms = performance.now() - startedAt
    const text = Buffer.from(bytes).toString()
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`)
    return { ms, body: JSON.parse(text) }
  }

  return {
    started,
    ask,
    state: async () => (await ask('/turns')).body as unknown as ServerState,
    async stop() {
      const exited = once(server, 'exit')
      server.stdin.end()
      await exited
      await client.destroy()
    },
  }
}
