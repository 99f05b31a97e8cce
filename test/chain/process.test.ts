import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { freePort } from '../../src/devnet/process.js'
import { call } from '../../src/devnet/rpc.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
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

it('every request is answered that was sent in the tenth of a second before SIGTERM', async () => {
  const env = await settings()
  const child = spawn(process.execPath, arcus('serve'), {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await listenTo(child)('"serving"')
  const url = `http://127.0.0.1:${env.PORT}`
  // One half of them is the facilitator's, the other that of the directory's thread.
  const requests = Array.from({ length: 150 }, (_, i) =>
    ask(url + (i % 2 === 0 ? '/supported' : '/discovery/resources')),
  )
  const asked = requests.map(({ status }) => status)
  // The kernel of the service has accepted all of them by then, and the service itself has not.
  await Promise.all(requests.map(({ isSent }) => isSent))
  child.kill('SIGTERM')
  const exited = once(child, 'exit')
  expect(await Promise.all(asked)).toEqual(asked.map(() => 200))
  expect(await exited).toEqual([0, null])
})

it('both halves answer until a quarter of a second is quiet, and each answer closes its connection', async () => {
  const env = await settings()
  const child = spawn(process.execPath, arcus('serve'), {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await listenTo(child)('"serving"')
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const asked: Promise<unknown>[] = []
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    for (const path of ['/supported', '/discovery/resources', '/api/merchants']) {
      const { status, connection } = ask(`http://127.0.0.1:${env.PORT}${path}`)
      asked.push(Promise.all([status, connection]))
    }
  }
  const endedAt = performance.now()
  expect(await Promise.all(asked)).toEqual(asked.map(() => [200, 'close']))
  expect(await exited).toEqual([0, null])
  expect(performance.now() - endedAt).toBeLessThan(5_000)
})

/** Asks over a connection of its own. The status is the error where there is no answer. */
function ask(url: string) {
  const asking = request(url, { agent: false })
  const status = new Promise<number | string | undefined>((resolve) => {
    asking.once('response', (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    })
    asking.once('error', ({ message }) => resolve(message))
  })
  const connection = new Promise<string | undefined>((resolve) => {
    asking.once('response', ({ headers }) => resolve(headers.connection))
    asking.once('error', () => resolve(undefined))
  })
  asking.end()
  return { status, connection, isSent: once(asking, 'finish') }
}

// The members of a process group are read from /proc.
describe.runIf(process.platform === 'linux')('the service that npm starts', () => {
  /** Starts it in a process group of its own, as a terminal or a supervisor does. */
  async function startByNpm() {
    const folder = mkdtempSync(join(tmpdir(), 'arcus-npm-'))
    const start = [process.execPath, ...arcus('serve')].map((word) => `"${word}"`).join(' ')
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { start } }))
    const env = { ...(await settings()), HOME: folder }
    const child = spawn('npm', ['start'], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    const group = child.pid as number
    onTestFinished(() => {
      if (membersOf(group).length > 0) process.kill(-group, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })
    let said = ''
    child.stdout.on('data', (text) => {
      said += text
    })
    const says = (words: string) =>
      vi.waitUntil(() => said.includes(words), { timeout: 60_000, interval: 20 })
    return { child, group, says, said: () => said, url: `http://127.0.0.1:${env.PORT}` }
  }

  function membersOf(group: number): number[] {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => {
        try {
          const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
          const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
          return state !== 'Z' && Number(itsGroup) === group
        } catch {
          return false
        }
      })
  }

  const untilGone = (group: number) =>
    vi.waitUntil(() => membersOf(group).length === 0, { timeout: 30_000, interval: 20 })

  it('answers what is in flight when SIGTERM reaches its whole process group', async () => {
    const { group, says, said, url } = await startByNpm()
    await says('"serving"')
    await call(chain.url, 'evm_setAutomine', [false])
    const body = JSON.stringify(await aSignedPayment())
    const headers = { 'content-type': 'application/json' }
    const settling = fetch(`${url}/settle`, { method: 'POST', headers, body })
    await vi.waitUntil(
      async () => Number((await call<{ pending: string }>(chain.url, 'txpool_status')).pending) > 0,
      { timeout: 20_000, interval: 20 },
    )
    process.kill(-group, 'SIGTERM')
    await says('"draining"')
    // npm is gone meanwhile, and the service has found that out.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await call(chain.url, 'evm_mine', [])
    await call(chain.url, 'evm_setAutomine', [true])
    const answer = (await (await settling).json()) as { success: boolean }
    expect(answer.success).toBe(true)
    await untilGone(group)
    await says('"drained"')
    expect(said()).not.toContain('leaving at once')
  })

  it('leaves nothing behind when npm is ended as soon as it has started something', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const { child, group } = await startByNpm()
      await vi.waitUntil(() => membersOf(group).length > 1, { timeout: 30_000, interval: 1 })
      child.kill(signal)
      await untilGone(group)
    }
  })
})
