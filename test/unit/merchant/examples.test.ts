import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createListingClient } from '@arcus/client/listing-client'
import type { ListingEndpoint } from '@arcus/protocol/listing/listing'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { usdcBalance } from '../../../src/devnet/fixtures.js'
import { freePort } from '../../../src/devnet/process.js'
import { startToolShop } from '../../support/a-tool-shop.js'
import { startWorld, type World } from '../../support/arcus.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-examples-'))
const examples = ['agent', 'buyer', 'express-merchant', 'fastify-merchant']
let world: World
beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  // Bundled once, because each of many processes would take seconds to load the packages file by file.
  await build({
    configFile: false,
    logLevel: 'warn',
    resolve: { tsconfigPaths: true },
    ssr: { noExternal: true },
    build: {
      ssr: true,
      target: 'node20',
      outDir: folder,
      emptyOutDir: true,
      rolldownOptions: {
        input: Object.fromEntries(examples.map((name) => [name, `examples/${name}.ts`])),
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  })
})
const started: ChildProcess[] = []
afterAll(async () => {
  for (const merchant of started) merchant.kill()
  await world.stop()
  rmSync(folder, { recursive: true })
})

function run(example: string, args: string[], env: Record<string, string>): ChildProcess {
  return start([join(folder, `${example}.mjs`), ...args], env)
}

function start(args: string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...env },
  })
}

/** The port of a merchant that sells; each is started once. */
const merchants = new Map<string, Promise<number>>()
function startMerchant(example: string): Promise<number> {
  const port = merchants.get(example) ?? sell(example)
  merchants.set(example, port)
  return port
}

async function sell(example: string): Promise<number> {
  const port = await freePort()
  const merchant = run(example, [], { PORT: String(port), FACILITATOR_URL: world.url })
  started.push(merchant)
  await new Promise((resolve, reject) => {
    merchant.stdout?.once('data', resolve)
    merchant.once('exit', () => reject(new Error(`${example} ended`)))
  })
  return port
}

async function textOf(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) text += chunk
  return text
}

it.each([
  ['fastify-merchant', '/weather?city=Lisbon', /^200 \{"city":"Lisbon".*\nPaid in 0x/, 10_000n],
  ['express-merchant', '/quote', /^200 \{"quote":.*\nPaid in 0x/, 10_000n],
])('the buyer of the examples pays %s at %s', async (example, path, output, price) => {
  const port = await startMerchant(example)
  const balance = () => usdcBalance(world.chainUrl, devnetMerchant.address)
  const before = await balance()
  expect(await textOf(run('buyer', [`http://127.0.0.1:${port}${path}`], {}))).toMatch(output)
  expect((await balance()) - before).toBe(price)
})

it('the buyer of the examples runs as its page says, from its source', async () => {
  const port = await startMerchant('fastify-merchant')
  const balance = () => usdcBalance(world.chainUrl, devnetMerchant.address)
  const before = await balance()
  const args = ['--import', 'tsx', 'examples/buyer.ts', `http://127.0.0.1:${port}/story`]
  const output = await textOf(start(args, {}))
  expect(output).toMatch(/^200 Once upon a time .*cent\. \nPaid in 0x/)
  expect((await balance()) - before).toBe(2_000n)
})

it('the buyer of the examples prints why the payment was refused', async () => {
  const port = await startMerchant('fastify-merchant')
  // The default key of the devnet has money; this one has none.
  const env = { PAYER_KEY: `0x${'11'.repeat(32)}` }
  const output = await textOf(run('buyer', [`http://127.0.0.1:${port}/story`], env))
  expect(output).toMatch(/^402 .*\nRefused: invalid_exact_evm_insufficient_balance/)
})

describe('the agent of the examples', () => {
  const listAs = (endpoint: ListingEndpoint) =>
    createListingClient({
      directoryUrl: world.url,
      // The service has no BASE_URL, so its public name is the default one.
      audience: `http://localhost:${new URL(world.url).port}`,
      signer: devnetMerchant.account,
    }).save('weather-house', {
      name: 'Weather house',
      description: '',
      payTo: devnetMerchant.address,
      endpoints: [endpoint],
    })
  const ask = async (...args: string[]) => {
    const agent = run('agent', args, { ARCUS_URL: world.url })
    return { output: await textOf(agent), balance: await balanceOf() }
  }
  const balanceOf = () => usdcBalance(world.chainUrl, devnetMerchant.address)

  it('finds, pays and calls within its limit, and does not pay above it or with unknown parameters', async () => {
    const port = await startMerchant('fastify-merchant')
    const url = `http://127.0.0.1:${port}/weather`
    await listAs({
      url,
      method: 'GET',
      title: 'Weather of a city',
      price: '10000',
      example: { queryParams: { city: 'Lisbon' } },
      inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    })
    const before = await balanceOf()
    const bought = await ask('weather', '--param', 'city=Porto')
    expect(bought.output).toMatch(
      /Found .*\nAsked for +10000 .*\nAnswer +200 {"city":"Porto".*\nPaid in +0x/,
    )
    expect(bought.balance - before).toBe(10_000n)

    const [dear, odd] = await Promise.all([
      ask('weather', '--max', '0.009'),
      ask('weather', '--param', 'planet=Mars'),
    ])
    expect(dear.output).toMatch(/Nothing for at most \$0.009/)
    expect(odd.output).toMatch(/It takes city, not planet/)
    expect(odd.balance).toBe(bought.balance)
  }, 90_000)

  it('finds a tool of an MCP server by MCP, and pays it in the same way', async () => {
    const shop = await startToolShop({ facilitatorUrl: world.url })
    try {
      await listAs({
        url: shop.url,
        method: 'MCP',
        toolName: 'tides',
        title: 'Tides of a port',
        price: '10000',
        example: { arguments: { port: 'Sines' } },
      })
      const before = await balanceOf()
      const bought = await ask('tides', '--mcp', '--param', 'port=Faro')
      expect(bought.output).toMatch(
        /Found +tool tides of .*\nAsked for +10000 .*\nAnswer +200 .*Fair.*\nPaid in +0x/,
      )
      expect(bought.balance - before).toBe(10_000n)
      expect(shop.calls.at(-1)).toEqual({ name: 'tides', args: { port: 'Faro' }, isPaid: true })
    } finally {
      shop.stop()
    }
  }, 90_000)
})
