import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts, usdcBalance } from '../../src/devnet/fixtures.js'
import { startBase, usdcOfBase } from '../support/base-chain.js'
import { type Block, readPage, root } from './page.js'
import { isListening, openFolder, removeFolder, run, start, until } from './shell.js'

const commands = (blocks: readonly Block[] = []) =>
  blocks.filter(({ kind }) => kind === 'command').map(({ text }) => text)
/** The sections of a page that make something of their own. */
const recipes = (page: ReadonlyMap<string, Block[]>) =>
  [...page].filter(([, blocks]) => blocks.some(({ kind }) => kind === 'file'))
/** The first section of a page for buyers exports the key. */
const keyOf = (page: ReadonlyMap<string, Block[]>) => commands([...page.values()][0])[0] ?? ''

const sell = readPage('sell')
const buy = readPage('buy')
const agent = readPage('agent')
const addArc = readPage('add-arc')

/** The shops of the page for sellers on Base have the file of its first section; the one with Solana has the server of Express. */
const [added, ...shopsOnBase] = recipes(addArc)
const serverOfExpress = (addArc.get('Express') ?? []).filter(({ kind }) => kind === 'file')
const bothChains = shopsOnBase.map(([title, blocks]): [string, Block[]] => {
  const shared = title.startsWith('Solana') ? serverOfExpress : (added?.[1] ?? [])
  return [`${title} on both`, [...blocks, ...shared]]
})

const ports = [3000, 4021, 4022, 8545]
const INSTALLS_AT_ONCE = 3
let devnet: ReturnType<typeof start>
/** The folder of a section, once its packages are installed. */
const folders = new Map<string, Promise<string>>()

beforeAll(async () => {
  for (const port of ports) {
    if (await isListening(port)) throw new Error(`port ${port} is in use; the pages need it`)
  }
  const [, pack = ''] = commands([...sell.values()][0])
  await run(pack, root)
  installAll([...[sell, buy, agent].flatMap(recipes), ...bothChains])
  devnet = start('npm run dev', root)
  await until(
    () => {
      if (devnet.child.exitCode !== null) throw new Error(devnet.printed())
      return devnet.printed().includes('Arcus is running') && isListening(4022)
    },
    () => `npm run dev did not start:\n${devnet.printed()}`,
  )
})

afterAll(async () => {
  await devnet?.stop()
  await Promise.allSettled([...folders.values()].map(async (folder) => removeFolder(await folder)))
})

/** Begins the installations. They mostly wait for the network, so some of them run beside the first tests. */
function installAll(sections: readonly [string, readonly Block[]][]): void {
  const places = Array.from({ length: INSTALLS_AT_ONCE }, () => Promise.resolve())
  sections.forEach(([title, blocks], index) => {
    const place = index % places.length
    const installed = (places[place] as Promise<void>).then(() => install(blocks))
    places[place] = installed.then(
      () => undefined,
      () => undefined,
    )
    folders.set(title, installed)
  })
}

async function install(blocks: readonly Block[]): Promise<string> {
  const folder = openFolder(blocks)
  const [command = ''] = commands(blocks)
  await run(command, folder, { ARCUS: root })
  return folder
}

const folderOf = (title: string) => folders.get(title) as Promise<string>

// These look for what the devnet itself sells, so they come before the shops of the quickstarts, which end and stay listed.
describe('samples of other pages', () => {
  const hash = /0x[0-9a-f]{64}/
  it.each<[string, string, RegExp[]]>([
    ['docs/agents.md', 'type=mcp', [/highTide/, /success: true/, hash]],
    ['docs/agents.md', 'buyer.quote(item)', [/within the limits/, /^200 \{.*\} \d+n \d+n$/m]],
    ['packages/client/README.md', 'arcus.describe(found)', [/quote: '.+'/, hash]],
    ['packages/client/README.md', 'response.json(), cost', [/quote: '.+'/, / 10000n \d+n$/m]],
    ['packages/client/README.md', 'closeChannels()', [/(^5000n .*\n){10}/m, /left: 0n/]],
  ])('of %s with %s does on npm run dev what it shows', async (page, words, said) => {
    const text = readFileSync(join(root, page), 'utf8')
    const samples = text.split('```ts\n').slice(1)
    const sample = samples.find((it) => it.includes(words))?.split('```')[0] ?? ''
    // The packages of this repository are found from here.
    mkdirSync(join(root, 'data'), { recursive: true })
    const folder = mkdtempSync(join(root, 'data/sample-'))
    writeFileSync(join(folder, 'sample.ts'), sample)
    const printed = await run('node --import tsx sample.ts', folder, {
      PAYER_KEY: devnetPayer.privateKey,
    })
    await removeFolder(folder)
    for (const line of said) expect(printed).toMatch(line)
  })
})

describe('docs/quickstarts/sell.md', () => {
  const [pay = ''] = commands(sell.get('Pay it'))

  it.each(recipes(sell))('%s sells a quote, and the catalog lists it', async (title, blocks) => {
    const [, serve = '', ...others] = commands(blocks)
    expect(others).toEqual([])
    const shop = start(serve, await folderOf(title))
    try {
      await until(
        () => isListening(3000),
        () => `the shop did not start:\n${shop.printed()}`,
      )
      const unpaid = await fetch('http://localhost:3000/quote')
      expect(unpaid.status, shop.printed()).toBe(402)
      expect(await run(pay, root)).toContain('200 OK')
      await until(
        async () => (await listed()).includes('http://localhost:3000/quote'),
        () => 'the catalog does not list the shop',
        15_000,
      )
    } finally {
      await shop.stop()
    }
    await until(
      async () => !(await isListening(3000)),
      () => 'the shop did not end',
    )
  })
})

describe('docs/quickstarts/add-arc.md', () => {
  const shop = 'http://localhost:3000/quote'
  let base: Awaited<ReturnType<typeof startBase>>
  beforeAll(async () => {
    base = await startBase()
  })
  afterAll(() => base?.stop())

  /** Starts a shop of the page, and ends it after use. */
  async function withShop(title: string, env: Record<string, string>, use: () => Promise<void>) {
    const [, serve = 'node server.mjs'] = commands(addArc.get(title))
    const running = start(serve, await folderOf(`${title} on both`), env)
    try {
      await until(
        () => isListening(3000),
        () => `the shop did not start:\n${running.printed()}`,
      )
      await use().catch((error) => {
        throw new Error(`${error.message}\n${running.printed()}`, { cause: error })
      })
    } finally {
      await running.stop()
    }
    await until(
      async () => !(await isListening(3000)),
      () => 'the shop did not end',
    )
  }

  /** Buys by the official client with a wallet on one network. */
  async function buyOn(network: 'eip155:5042' | 'eip155:8453') {
    const client = x402Client.fromConfig({
      schemes: [{ network, client: new ExactEvmScheme(devnetPayer.account) }],
      spendControls: {
        allowedAssets: [
          { network: 'eip155:5042', asset: devnetContracts.usdc, maxAmountPerPayment: '10000' },
          { network: 'eip155:8453', asset: usdcOfBase, maxAmountPerPayment: '10000' },
        ],
      },
    })
    const answer = await wrapFetchWithPayment(fetch, client)(shop)
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { quote: 'A penny saved is a penny earned.' },
    ])
    const settled = answer.headers.get('PAYMENT-RESPONSE') ?? ''
    expect(decodePaymentResponseHeader(settled)).toMatchObject({ success: true, network })
  }
  /** The money of the buyer. The shop's would not do: the service may make a paid check of it at any moment. */
  const held = async () => ({
    arc: await usdcBalance('http://127.0.0.1:8545', devnetPayer.address),
    base: await base.balanceOf(devnetPayer.address),
  })
  const networks = async () => {
    const header = (await fetch(shop)).headers.get('PAYMENT-REQUIRED') ?? ''
    return decodePaymentRequiredHeader(header).accepts.map(({ network }) => network)
  }

  it.each(['Express', 'Hono', 'Next'])('%s sells on both, each payment on its chain', (title) =>
    withShop(title, { BASE_FACILITATOR_URL: base.url }, async () => {
      expect(await networks()).toEqual(['eip155:8453', 'eip155:5042'])
      const before = await held()
      await buyOn('eip155:8453')
      expect(await held()).toEqual({ arc: before.arc, base: before.base - 10_000n })
      await buyOn('eip155:5042')
      expect(await held()).toEqual({ arc: before.arc - 10_000n, base: before.base - 10_000n })
      expect(await run(commands(addArc.get('Pay it'))[0] ?? '', root)).toContain('200 OK')
    }),
  )

  it('Express starts and sells on Base while Arcus is away', () =>
    withShop(
      'Express',
      { BASE_FACILITATOR_URL: base.url, FACILITATOR_URL: 'http://127.0.0.1:9' },
      async () => {
        expect(await networks()).toEqual(['eip155:8453', 'eip155:5042'])
        await buyOn('eip155:8453')
        await expect(buyOn('eip155:5042')).rejects.toThrow()
      },
    ))

  it('with Solana beside them, a buyer on Arc pays', () =>
    withShop('Solana as well', { BASE_FACILITATOR_URL: base.url }, async () => {
      expect(await networks()).toEqual([
        'eip155:8453',
        'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
        'eip155:5042',
      ])
      const before = await held()
      await buyOn('eip155:5042')
      expect(await held()).toEqual({ arc: before.arc - 10_000n, base: before.base })
    }))
})

describe('docs/quickstarts/buy.md', () => {
  it.each(recipes(buy))('%s pays the sample API', async (title, blocks) => {
    const [, pay = ''] = commands(blocks)
    const printed = await run(`${keyOf(buy)}\n${pay}`, await folderOf(title))
    expect(printed).toMatch(/^200 \{"quote":".+"\}$/m)
    expect(printed).toMatch(/^paid in 0x[0-9a-f]{64}$/m)
  })
})

describe('docs/quickstarts/agent.md', () => {
  it.each(recipes(agent))('%s finds the cheapest sample, and pays it', async (title, blocks) => {
    const [, search = ''] = commands(blocks)
    const printed = await run(`${keyOf(agent)}\n${search}`, await folderOf(title))
    expect(printed).toContain('found http://localhost:4021/hosted/fees for 5000 atomic units')
    expect(printed).toMatch(/^paid in 0x[0-9a-f]{64}$/m)
  })
})

it('docs/quickstarts/curl.md asks, signs, verifies, settles and looks up', async () => {
  const folder = openFolder([])
  const steps = [...readPage('curl').values()].flatMap(commands)
  expect(steps).toHaveLength(5)
  const here = (step: string) => step.replaceAll('payment.json', `${folder}/payment.json`)
  const printed: string[] = []
  for (const step of steps) printed.push(await run(here(step), root))
  await removeFolder(folder)
  const [terms, , verified, settled, found] = printed.map((text) => text && JSON.parse(text))
  expect(terms.accepts[0]).toMatchObject({ amount: '10000', network: 'eip155:5042' })
  expect(verified).toMatchObject({ isValid: true })
  expect(settled).toMatchObject({ success: true })
  expect(found).toMatchObject({ state: 'confirmed', transaction: settled.transaction })
})

async function listed(): Promise<string[]> {
  const payTo = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
  const answer = await fetch(`http://localhost:4021/discovery/resources?limit=100&payTo=${payTo}`)
  const { items } = (await answer.json()) as { items: { resource: string }[] }
  return items.map(({ resource }) => resource)
}
