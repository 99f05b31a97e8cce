import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil-process.js'
import { mintUsdc, placeContracts } from '../src/devnet/fixtures.js'
import { freePort } from '../src/devnet/ports.js'

export type SideName = 'arcus' | 'reference' | 'stock'

/** A facilitator beside a chain of its own, fresh, since anvil slows with every payment it keeps. */
export interface Side {
  url: string
  chainUrl: string
  stop(): Promise<void>
}

export async function startSide(name: SideName): Promise<Side> {
  const anvil = await startAnvil({ mining: 'auto' })
  await placeContracts(anvil.url)
  await mintUsdc(anvil.url, devnetPayer.address, 10n ** 12n)
  const port = await freePort()
  const child =
    name === 'arcus' ? startArcus(anvil.url, port) : startReference(name, anvil.url, port)
  const url = `http://127.0.0.1:${port}`
  await untilHealthy(url)
  return {
    url,
    chainUrl: anvil.url,
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
      await anvil.stop()
    },
  }
}

function startArcus(rpcUrl: string, port: number): ChildProcess {
  return spawn(process.execPath, ['dist/main.js'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      HOST: '127.0.0.1',
      PORT: String(port),
      MAINNET_RPC_URLS: rpcUrl,
      RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey,
      DATABASE_URL: `sqlite:${join(mkdtempSync(join(tmpdir(), 'arcus-bench-')), 'arcus.db')}`,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_MAX: '0',
    },
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
    try {
      if ((await fetch(`${url}/health`)).ok) return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  throw new Error('a facilitator did not start')
}
