import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { freePort } from '../../src/devnet/process.js'
import { startChain } from '../support/arcus.js'
import { arcus } from '../support/scripts.js'

let chain: Anvil
beforeAll(async () => {
  chain = await startChain()
})
afterAll(() => chain.stop())

const settings = async () => ({
  PATH: process.env.PATH,
  PORT: String(await freePort()),
  HOST: '127.0.0.1',
  LOG_LEVEL: 'info',
  MAINNET_RPC_URLS: chain.url,
  RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey,
  DATABASE_URL: 'sqlite::memory:',
})

/** Waits until the process has written this. */
function listenTo({ stdout }: ChildProcess): (words: string) => Promise<void> {
  let text = ''
  stdout?.on('data', (chunk) => {
    text += chunk
  })
  return async (words) => {
    await vi.waitUntil(() => text.includes(words), { timeout: 60_000, interval: 20 })
  }
}

it('the service says so and ends when its port is taken, with no relayer left at work', async () => {
  const env = await settings()
  const other = createServer().listen(Number(env.PORT), '127.0.0.1')
  try {
    const child = spawn(process.execPath, arcus('serve'), { env })
    let said = ''
    child.stderr.on('data', (text) => {
      said += text
    })
    const [code] = await once(child, 'exit')
    expect(code).toBe(1)
    expect(said).toContain(`EADDRINUSE: address already in use 127.0.0.1:${env.PORT}`)
    expect(said).toContain('set PORT')
  } finally {
    other.close()
  }
})

it('the service ends in order when npm, which started it, is killed', async () => {
  const command = [process.execPath, ...arcus('serve')].map((word) => `"${word}"`).join(' ')
  // npm starts a shell, which starts the command. The `true` behind it keeps a shell from replacing itself.
  const child = spawn('sh', ['-c', `sh -c '${command}; true'; true`], {
    env: { ...(await settings()), npm_lifecycle_script: 'node dist/cli/arcus.js serve' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const says = listenTo(child)
  await says('"serving"')
  child.kill('SIGKILL')
  await says('"drained"')
})
