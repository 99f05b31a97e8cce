import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { startAnvil } from '../../src/devnet/anvil.js'
import { devnetContracts, mintUsdc, placeContracts } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { startRpcProxy } from '../faults/support/rpc-proxy.js'
import type { Subject } from './battery.js'

export type LocalName = 'arcus' | 'reference' | 'control'

type LocalSubject = Subject & { stop(): Promise<void> }

const BLOCK_SECONDS = 1

/** Starts a chain of its own with a block each second, and before it a facilitator that the battery may kill. */
export async function startLocal(name: LocalName): Promise<LocalSubject> {
  const anvil = await startAnvil({ mining: BLOCK_SECONDS })
  await placeContracts(anvil.url)
  await mintUsdc(anvil.url, devnetPayer.address, 10n ** 9n)
  const node = await startRpcProxy(anvil.url)
  const chain = {
    chainUrl: anvil.url,
    network: 'eip155:5042',
    token: { address: devnetContracts.usdc, name: 'USDC', version: '2' },
    payer: devnetPayer.account,
    payTo: devnetMerchant.address,
  }
  const facilitator = name === 'control' ? await startControl() : await startProcess(name, node.url)
  return {
    ...chain,
    ...facilitator,
    node,
    async stop() {
      await facilitator.stop()
      await node.close()
      await anvil.stop()
    },
  }
}

/** Runs Arcus as it was built, or the facilitator of the official packages. */
async function startProcess(name: 'arcus' | 'reference', rpcUrl: string) {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-conformance-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const key = devnetRelayers[0]?.privateKey
  const env = {
    ...process.env,
    HOST: '127.0.0.1',
    PORT: String(port),
    MAINNET_RPC_URLS: rpcUrl,
    RELAYER_PRIVATE_KEYS: key,
    DATABASE_URL: `sqlite:${join(folder, 'arcus.db')}`,
    LOG_LEVEL: 'fatal',
    RPC_URL: rpcUrl,
    KEY: key,
    NONCE_MANAGER: '1',
  }
  const script =
    name === 'arcus' ? ['dist/main.js'] : ['--import', 'tsx', 'bench/reference-facilitator.ts']
  let child: ChildProcess
  const start = async () => {
    child = spawn(process.execPath, script, { stdio: ['ignore', 'ignore', 'inherit'], env })
    await untilReady(url)
  }
  const kill = async () => {
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }
  await start()
  return {
    url,
    async restart() {
      await kill()
      await start()
    },
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A facilitator that calls everything settled and settles nothing. A battery that lets it pass proves nothing. */
async function startControl() {
  const server = createServer((request, response) => {
    request.resume()
    const transaction = `0x${'1'.repeat(64)}`
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ success: true, transaction, network: 'eip155:5042' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async restart() {},
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function untilReady(url: string): Promise<void> {
  for (let i = 0; i < 300; i++) {
    // A service that starts answers 503 here. The reference has no such route.
    const answer = await fetch(`${url}/ready`).catch(() => undefined)
    if (answer !== undefined && answer.status !== 503) return
    await sleep(100)
  }
  throw new Error('a facilitator did not start')
}
