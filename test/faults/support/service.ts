import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Hex } from 'viem'
import { devnetContracts } from '../../../src/devnet/fixtures.js'
import { type ChildExit, superviseChild } from '../../../src/devnet/process.js'
import { compiled } from '../../support/scripts.js'
import { pause } from './behaviours.js'
import { multicallWallets, permit2Scheme } from './payments.js'

export interface Service {
  url: string
  /** Dies at once, as in a crash. */
  crash(): Promise<void>
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
  exited: Promise<ChildExit>
  /** The newest log lines. */
  log(): string[]
}

export interface ServiceOptions {
  port: number
  rpcUrls: readonly string[]
  relayerKeys: readonly Hex[]
  /** The value of `DATABASE_URL`. */
  databaseUrl: string
  env?: NodeJS.ProcessEnv
}

/** Several may start at once on a busy machine. */
const READY_TIMEOUT_MS = 180_000
const STOP_GRACE_MS = 8_000
const KEPT_LINES = 4_000

/** Starts the service in a process of its own; resolves when it serves. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const service = spawnService(options)
  let isOver = false
  void service.exited.then(() => {
    isOver = true
  })
  const deadline = Date.now() + READY_TIMEOUT_MS
  const path = options.env?.SERVE_ONLY === 'directory' ? '/api/console' : '/supported'
  while (!(await isServing(service.url + path))) {
    if (isOver || Date.now() > deadline) {
      await service.stop()
      throw new Error(`the service did not start:\n${service.log().slice(-20).join('\n')}`)
    }
    await pause(25)
  }
  return service
}

/** Starts the service in a process of its own, which may wait for its node or database. */
export function spawnService(options: ServiceOptions): Service {
  const child = spawn(process.execPath, [compiled('src/main.ts')], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: {
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
      RATE_LIMIT_MAX: '0',
      PORT: String(options.port),
      MAINNET_RPC_URLS: options.rpcUrls.join(','),
      RELAYER_PRIVATE_KEYS: options.relayerKeys.join(','),
      ...(permit2Scheme === 'upto' && { RELAYER_MULTICALL_WALLETS: multicallWallets.join(',') }),
      DATABASE_URL: options.databaseUrl,
      MAINNET_ASSETS: `${devnetContracts.usdc},${devnetContracts.eurc}`,
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      lines.push(...text.split('\n').filter((line) => line !== ''))
      lines.splice(0, lines.length - KEPT_LINES)
      if (process.env.FAULTS_LOG) appendFileSync(process.env.FAULTS_LOG, text)
    })
  }
  const { stop, exited } = superviseChild(child, STOP_GRACE_MS)
  return {
    url: `http://127.0.0.1:${options.port}`,
    async crash() {
      child.kill('SIGKILL')
      await exited
    },
    signal: (name) => child.kill(name),
    stop,
    exited,
    log: () => lines,
  }
}

/** While the service starts, everything but its health is answered with 503. */
async function isServing(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
