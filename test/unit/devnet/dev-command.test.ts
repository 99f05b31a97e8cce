import { type ChildProcess, exec, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { numberToHex } from 'viem'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parseArguments } from '../../../src/cli/command-line.js'
import { devnetMerchant, devnetPayer } from '../../../src/devnet/accounts.js'
import { startAnvil } from '../../../src/devnet/anvil.js'
import { devnetContracts, usdcBalance } from '../../../src/devnet/fixtures.js'
import { freePort } from '../../../src/devnet/process.js'
import { call } from '../../../src/devnet/rpc.js'
import { arcus } from '../../support/scripts.js'

type Command = { child: ChildProcess; stdout(): string; stderr(): string; code: Promise<number> }

const running: Command[] = []

interface RunOptions {
  env?: NodeJS.ProcessEnv
  /** As `npm run` does. */
  fromSources?: boolean
}

/** vitest sets BASE_URL itself. */
const withoutBaseUrl = { ...process.env, BASE_URL: '' }

/** Runs a command as it was built, which starts sooner than from its sources. */
function run(
  script: 'dev' | 'pay' | 'merchants',
  args: string[],
  { env = {}, fromSources = false }: RunOptions = {},
): Command {
  const path = fromSources
    ? ['--import', 'tsx', 'src/cli/arcus.ts', script, ...args]
    : arcus(script, ...args)
  const child = spawn(process.execPath, path, {
    env: { ...withoutBaseUrl, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    text.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    text.stderr += chunk
  })
  const code = once(child, 'close').then(([it]) => it as number)
  const command = { child, stdout: () => text.stdout, stderr: () => text.stderr, code }
  running.push(command)
  return command
}

async function startDev(extra: string[] = [], options: RunOptions = {}) {
  const [port, rpcPort, apiPort] = [await freePort(), await freePort(), await freePort()]
  const flags = ['--port', port, '--rpc-port', rpcPort, '--api-port', apiPort].map(String)
  const dev = run('dev', [...flags, ...extra], options)
  const rpcUrl = `http://127.0.0.1:${rpcPort}`
  const payArgs = [`http://localhost:${apiPort}/quote`, '--rpc', rpcUrl]
  return { dev, url: `http://127.0.0.1:${port}`, rpcUrl, payArgs, up: () => isUp(dev) }
}

async function isUp({ child, stdout, stderr }: Command): Promise<void> {
  while (!stdout().includes('npm run pay')) {
    if (child.exitCode !== null) throw new Error(`dev ended: ${stderr()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const isProgram = (pid: number, program: string) =>
  readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program)

/** The processes that dev started and must end: anvil, then Arcus. */
function childrenOf({ child }: Command): number[] {
  const text = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
  const children = text.trim().split(' ').map(Number)
  return children.filter((pid) => ['anvil', 'main.'].some((it) => isProgram(pid, it)))
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function pidOf(dev: Command, program: 'anvil'): number {
  const found = childrenOf(dev).find((pid) => isProgram(pid, program))
  if (found === undefined) throw new Error(`${program} is not running`)
  return found
}

/** Gives the chain a token with owner and pauser, and a payer whose public key is delegated (EIP-7702). */
async function imitateLiveChain(url: string): Promise<void> {
  const word = (value: bigint) => numberToHex(value, { size: 32 })
  const { usdc } = devnetContracts
  for (const slot of [0n, 1n]) {
    await call(url, 'anvil_setStorageAt', [usdc, word(slot), word(BigInt(usdc) + 1n)])
  }
  await call(url, 'anvil_setCode', [devnetPayer.address, '0x60006000fd'])
}

/** Posts the printed body as curl would: it is valid, and settles. */
async function expectSettles(url: string, print: Command): Promise<void> {
  expect(await print.code, print.stderr()).toBe(0)
  const post = async (path: string) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: print.stdout() })
    return response.json()
  }
  expect(await post('/verify')).toMatchObject({ isValid: true, payer: devnetPayer.address })
  expect(await post('/settle')).toMatchObject({ success: true, payer: devnetPayer.address })
  // So that docs/schemes.md can be tried here.
  const { paymentPayload } = JSON.parse(print.stdout())
  const { nonce } = paymentPayload.payload.authorization
  const payment = `${url}/payments/eip155:5042/${devnetPayer.address}/${nonce}`
  expect((await fetch(`${payment}/attestation`)).status).toBe(200)
}

/** Returns the settings in the line that dev prints for the operator. */
function operatorEnv(printed: string): NodeJS.ProcessEnv {
  const [, settings = ''] =
    /^ *(DATABASE_URL=.*) npm run arcus -- merchants list$/m.exec(printed) ?? []
  return Object.fromEntries(settings.split(' ').map((setting) => setting.split('=', 2)))
}

afterEach(async () => {
  for (const { child, code } of running.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await code
  }
})

// The processes that dev started are read from /proc.
describe.runIf(process.platform === 'linux')('npm run dev', () => {
  it('serves a payment to npm run pay, for an API that is listed, and Ctrl-C leaves nothing running', async () => {
    // Without paid checks, whose payments would be in the balances that follow.
    const env = { CHECK_PRIVATE_KEYS: '' }
    const { dev, payArgs, up, url, rpcUrl } = await startDev([], { fromSources: true, env })
    await up()
    // Each line above the welcome says what begins, and what `npm run pay` pays has a name.
    const [steps = '', welcome] = dev.stdout().split('\n\n')
    expect(steps.split('\n').filter((line) => !line.startsWith('starting: '))).toEqual([])
    expect(steps).toMatch(/^starting: local chain with play money\n/)
    expect(welcome).toMatch(/^Arcus is running on a local chain/)
    expect(dev.stdout()).toContain(`key ${devnetMerchant.privateKey}`)
    expect(dev.stdout()).toContain(`key ${devnetPayer.privateKey}`)
    const answer = await fetch(`${url}/api/merchants/sample-api`)
    const sample = (await answer.json()) as { endpoints: unknown[] }
    expect(sample.endpoints[0]).toMatchObject({ url: payArgs[0], state: { status: 'live' } })
    const list = run('merchants', ['list'], { env: operatorEnv(dev.stdout()) })
    const pay = run('pay', payArgs)
    const print = run('pay', [...payArgs, '--print'])
    expect(await pay.code).toBe(0)
    expect(pay.stdout()).toMatch(/price +0\.01 USDC to 0x/)
    expect(pay.stdout()).toMatch(/answer +200 OK/)
    expect(pay.stdout()).toMatch(/transaction +0x[0-9a-f]{64}/)
    expect(pay.stdout()).toMatch(/payer +100 +99\.99 +-0\.01/)
    expect(pay.stdout()).toMatch(/merchant +0 +0\.01 +\+0\.01/)
    expect(pay.stdout()).toMatch(/relayer gas +300 +299\.\d+ +-0\.00\d+/)
    expect(await usdcBalance(rpcUrl, devnetMerchant.address)).toBe(10_000n)
    await expectSettles(url, print)
    expect(await list.code).toBe(0)
    expect(list.stdout()).toMatch(/^arcus .*official/m)
    const children = childrenOf(dev)
    expect(children.filter(isAlive)).toHaveLength(2)
    dev.child.kill('SIGINT')
    expect(await dev.code).toBe(0)
    expect(children.filter(isAlive)).toEqual([])
    expect(dev.stderr()).toBe('')
  })

  it('soon shows that an API of the sample takes the money and fails', async () => {
    const { up, url } = await startDev()
    await up()
    const found = async () => {
      const answer = await fetch(`${url}/api/merchants/sample-api`)
      const { endpoints } = (await answer.json()) as {
        endpoints: { url: string; state: { delivery: { last: { reason: string } } | null } }[]
      }
      return endpoints.map((it) => [new URL(it.url).pathname, it.state.delivery?.last.reason])
    }
    expect((await found()).map(([path]) => path)).toEqual(['/quote', '/weather', '/mcp', '/broken'])
    await vi.waitFor(async () => expect(await found()).toContainEqual(['/broken', 'bad_status']), {
      timeout: 40_000,
      interval: 500,
    })
  }, 60_000)

  it('sells what examples/agent.ts asks for in docs/agents.md: a forecast, a summary and a tool', async () => {
    const page = readFileSync('docs/agents.md', 'utf8')
    const commands = [...page.matchAll(/^npx tsx (examples\/agent\.ts .*?) *(?:#.*)?$/gm)]
    expect(commands).toHaveLength(3)
    const { up, url } = await startDev()
    await up()
    const said: string[] = []
    for (const [, words = ''] of commands) {
      const { stdout } = await promisify(exec)(`node --import tsx ${words}`, {
        env: { ...process.env, ARCUS_URL: url },
      })
      said.push(stdout)
    }
    for (const text of said) expect(text).toMatch(/^Paid in +0x[0-9a-f]{64}$/m)
    expect(said[0]).toMatch(/^Answer +200 \{"city":"Lisbon","sky":"/m)
    expect(said[2]).toMatch(/^Found +tool tides of http:\/\/localhost:\d+\/mcp /m)
    expect(said[2]).toContain('highTide')
    expect(said[1]).toMatch(/^Answer +200 \{"summary":"A long story/m)
  }, 60_000)

  it('pays on a forked chain, and says so when anvil is killed', async () => {
    const live = await startAnvil({ chainId: 5042002 })
    try {
      await imitateLiveChain(live.url)
      const { dev, payArgs, up } = await startDev(['--fork', live.url])
      await up()
      const pay = run('pay', payArgs)
      expect(await pay.code, pay.stderr()).toBe(0)
      const children = childrenOf(dev)
      process.kill(pidOf(dev, 'anvil'), 'SIGKILL')
      expect(await dev.code).toBe(1)
      expect(dev.stderr()).toContain('anvil ended by itself (killed by SIGKILL)')
      expect(dev.stderr()).not.toContain('    at ')
      expect(children.filter(isAlive)).toEqual([])
    } finally {
      await live.stop()
    }
  })

  it('passes exported settings on, and says so when Arcus does not start with them', async () => {
    const { dev } = await startDev([], { env: { MIN_AMOUNT: 'a lot' } })
    expect(await dev.code).toBe(1)
    expect(dev.stdout()).not.toContain('Arcus is running')
    expect(dev.stderr()).toContain('MIN_AMOUNT')
    expect(dev.stderr()).toContain('Arcus stopped while starting (exit code 1).')
  })

  it('names a taken port and the flag that changes it, and starts nothing', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const { port } = holder.address() as { port: number }
    const dev = run('dev', ['--rpc-port', String(await freePort()), '--port', String(port)])
    const code = await dev.code
    holder.close()
    expect(code).toBe(1)
    expect(dev.stderr()).toMatch(
      new RegExp(`^Port ${port} for Arcus is already taken: .* --port\\.\\n$`),
    )
  })
})

describe('parseArguments', () => {
  it('names a flag it does not know in one sentence', () => {
    expect(() => parseArguments({ args: ['--frok', 'x'], options: {} })).toThrow(
      /^Unknown option '--frok'; try --help\.$/,
    )
  })
})

describe('npm run pay', () => {
  it('says that the devnet is not running', async () => {
    const pay = run('pay', ['--rpc', `http://127.0.0.1:${await freePort()}`], { fromSources: true })
    expect(await pay.code).toBe(1)
    expect(pay.stderr()).toMatch(/^No devnet answers at .*`npm run dev`.*\.\n$/)
  })
})
