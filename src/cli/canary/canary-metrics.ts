import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { Counter, Gauge, Registry } from 'prom-client'
import type { CanaryResult } from './canary-payment.js'

const SUCCESS = 'arcus_canary_success_timestamp_seconds'

export interface CanaryMetrics {
  note(result: CanaryResult): void
  /** Takes the time of the last success from a file of an earlier run, which a failure must not erase. */
  recall(path: string): void
  /** Writes the figures for the textfile collector of node_exporter. A reader never sees half a file. */
  write(path: string): Promise<void>
  /** Serves the figures at `/metrics`. */
  serve(host: string, port: number): Promise<Server>
  render(): Promise<string>
}

export function createCanaryMetrics(now: () => number = Date.now): CanaryMetrics {
  const registry = new Registry()
  const registers = [registry]
  const up = new Gauge({
    name: 'arcus_canary_up',
    help: '1 if the last payment of the canary settled, else 0.',
    registers,
  })
  const success = new Gauge({
    name: SUCCESS,
    help: 'When a payment of the canary last settled, Unix seconds; 0 if none has.',
    registers,
  })
  const seconds = new Gauge({
    name: 'arcus_canary_seconds',
    help: 'Time that the step of the last payment took.',
    labelNames: ['step'],
    registers,
  })
  const runs = new Counter({
    name: 'arcus_canary_payments_total',
    help: 'Payments that the canary tried since it was started.',
    labelNames: ['outcome'],
    registers,
  })
  const render = () => registry.metrics()

  return {
    note({ ok, verifySeconds, settleSeconds }) {
      up.set(ok ? 1 : 0)
      runs.inc({ outcome: ok ? 'settled' : 'failed' })
      if (ok) success.set(now() / 1000)
      // No figure is better than that of an earlier payment.
      seconds.reset()
      if (verifySeconds !== undefined) seconds.set({ step: 'verify' }, verifySeconds)
      if (settleSeconds !== undefined) seconds.set({ step: 'settle' }, settleSeconds)
    },
    recall(path) {
      if (!existsSync(path)) return
      const [, value] =
        new RegExp(`^${SUCCESS} ([\\d.e+]+)$`, 'm').exec(readFileSync(path, 'utf8')) ?? []
      if (value !== undefined) success.set(Number(value))
    },
    async write(path) {
      const draft = `${path}.${process.pid}.part`
      writeFileSync(draft, await render())
      renameSync(draft, path)
    },
    async serve(host, port) {
      const server = createServer(async (request, response) => {
        if (request.url !== '/metrics') return void response.writeHead(404).end()
        response.writeHead(200, { 'content-type': registry.contentType }).end(await render())
      })
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, host, resolve)
      })
      return server
    },
    render,
  }
}
