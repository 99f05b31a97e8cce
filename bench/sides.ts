import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil.js'
import { mintUsdc, placeContracts } from '../src/devnet/fixtures.js'
import { freePort } from '../src/devnet/process.js'
import type { Payer } from './payments.js'

export type SideName = 'arcus' | 'reference' | 'stock'

/** A facilitator beside a chain of its own, fresh, since anvil slows with every payment it keeps. */
export interface Side {
  url: string
  chainUrl: string
  /** Resident memory of the facilitator, megabytes. */
  rssMb(): number
  /** Processor time of the facilitator since its start, all threads, milliseconds. */
  cpuMs(): number
  stop(): Promise<void>
}

export interface SideOptions {
  /** Seconds between blocks; a block for each transaction unless said. */
  blockSeconds?: number
  /** Lets something stand between facilitator and chain: gets the chain's URL, gives the one to use. */
  between?: (chainUrl: string) => Promise<string>
  /** Those who have money besides the payer of the devnet. */
  payers?: readonly Payer[]
  /** Settings of Arcus over those of the bench. */
  env?: Record<string, string>
  /** Arguments of Node for Arcus. */
  nodeArguments?: readonly string[]
}

/** The longest wait for a facilitator to end by itself. */
const STOP_MS = 30_000

export async function startSide(name: SideName, options: SideOptions = {}): Promise<Side> {
  const anvil = await startAnvil({
    mining: options.blockSeconds ?? 'auto',
    blockGasLimit: 30_000_000n,
  })
  await placeContracts(anvil.url)
  for (const { address } of [devnetPayer, ...(options.payers ?? [])]) {
    await mintUsdc(anvil.url, address, 10n ** 12n)
  }
  const rpcUrl = (await options.between?.(anvil.url)) ?? anvil.url
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
  const env = {
    HOST: '127.0.0.1',
    PORT: String(port),
    MAINNET_RPC_URLS: rpcUrl,
    RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey,
    DATABASE_URL: `sqlite:${join(folder, 'arcus.db')}`,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_MAX: '0',
    ...options.env,
  }
  const child =
    name === 'arcus' ? startArcus(env, options.nodeArguments) : startReference(name, rpcUrl, port)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  await untilHealthy(url)
  return {
    url,
    chainUrl: anvil.url,
    rssMb() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024
    },
    cpuMs() {
      // The fields after the name of the command, which may have spaces: user and system time in hundredths of a second.
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ')
      return (Number(fields?.[11]) + Number(fields?.[12])) * 10
    },
    async stop() {
      child.kill('SIGTERM')
      // One that is busy for minutes does not notice the signal.
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(force)
      await anvil.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function startArcus(
  env: Record<string, string | undefined>,
  nodeArguments: readonly string[] = [],
): ChildProcess {
  return spawn(process.execPath, [...nodeArguments, 'dist/main.js'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  })
}

function startReference(name: SideName, rpcUrl: string, port: number): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', 'bench/reference-facilitator.ts'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      PORT: String(port),
      RPC_URL: rpcUrl,
      KEY: devnetRelayers[0]?.privateKey,
      NONCE_MANAGER: name === 'stock' ? '0' : '1',
    },
  })
}

async function untilHealthy(url: string): Promise<void> {
  for (let i = 0; i < 200; i++) {
    // A service that starts answers 503 here. The reference has no such route.
    const answer = await fetch(`${url}/ready`).catch(() => undefined)
    if (answer !== undefined && answer.status !== 503) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('a facilitator did not start')
}
