import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createArcusClient } from '@arcus/client'
import { signPayments } from '../bench/payments.js'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil.js'
import { devnetContracts, mintUsdc, placeContracts, usdcBalance } from '../src/devnet/fixtures.js'
import { type Child, freePort, superviseChild } from '../src/devnet/process.js'
import { quotePrice, startSampleApi } from '../src/devnet/sample-api.js'
import { findChromium, launchChromium } from '../test/browser/support/chromium.js'

/*
 * npx tsx scripts/check-layout.ts COMMAND...
 *
 * Does with a command that is `arcus` what an operator, a seller and a buyer do: the same for `bin/arcus` of a layout, for
 * a package of npm and for `docker run ... IMAGE`. It runs in an empty folder with a local chain. `{}` in the command is
 * that folder. The command is given no environment but PATH and HOME.
 */

const READY_TIMEOUT_MS = 90_000
const STOP_GRACE_MS = 60_000
const network = 'eip155:5042'

const folder = mkdtempSync(join(tmpdir(), 'arcus-check-'))
// The user of a container is another one.
chmodSync(folder, 0o777)
const [program = '', ...leading] = process.argv.slice(2).map((it) => it.replaceAll('{}', folder))
if (program === '') throw new Error('name the command that is arcus')

/** What the check stops at its end, the last started first. */
const stops: (() => Promise<void> | void)[] = [
  () => rmSync(folder, { recursive: true, force: true }),
]
try {
  await check()
} finally {
  for (const stop of stops.reverse()) await stop()
}

async function check(): Promise<void> {
  await expectExit(1, ['serve'], 'MAINNET_RPC_URLS', 'RELAYER_PRIVATE_KEYS')
  say('without settings it says which are missing')

  const chain = await startAnvil({ mining: 1 })
  stops.push(chain.stop)
  await placeContracts(chain.url)
  await mintUsdc(chain.url, devnetPayer.address, 1_000_000n)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  writeSettings({ port, rpcUrl: chain.url })

  let arcus = await startArcus(url)
  await settle(url, chain.url)
  await sellByListing(url, chain.url)
  await openConsole(url)
  await expectExit(0, ['doctor'], 'Payments can be settled')
  say('the doctor finds nothing to fix')

  await expectExit(0, ['backup', 'backup.db'], 'Backed up to')
  await arcus.end()
  say('it makes a backup, and SIGTERM ends it with exit code 0')
  for (const end of ['', '-wal', '-shm']) renameIfPresent(`arcus.db${end}`)
  await expectExit(0, ['restore', 'backup.db'], 'Restored')
  arcus = await startArcus(url)
  const { merchants } = await createArcusClient({ url }).call('GET /api/merchants', {})
  if (!merchants.some(({ id }) => id === 'check'))
    throw new Error('the restored service lists nothing')
  await settle(url, chain.url)
  await arcus.end()
  say('it starts from the backup, lists and settles')
}

/** Writes what an operator writes. `.env` and keys reach a container with the folder. */
function writeSettings({ port, rpcUrl }: { port: number; rpcUrl: string }): void {
  const settings = {
    HOST: '127.0.0.1',
    PORT: port,
    BASE_URL: `http://127.0.0.1:${port}`,
    DIRECTORY_URL: `http://127.0.0.1:${port}`,
    MAINNET_RPC_URLS: rpcUrl,
    RELAYER_PRIVATE_KEYS_FILE: './relayer.keys',
    DATABASE_URL: 'sqlite:./arcus.db',
    DAILY_GAS_LIMIT_USD: 25,
    // The seller of this check is on this machine.
    PROBE_ALLOW_PRIVATE_HOSTS: true,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(join(folder, '.env'), lines.join(''))
  const keys = devnetRelayers.map(({ privateKey }) => `${privateKey}\n`)
  writeFileSync(join(folder, 'relayer.keys'), keys.join(''))
}

interface Arcus {
  /** Sends SIGTERM, and waits for exit code 0. */
  end(): Promise<void>
}

/** Starts the service, and resolves when it is ready. */
async function startArcus(url: string): Promise<Arcus> {
  const startedAt = performance.now()
  const { child, output } = start(['serve'])
  const supervised = superviseChild(child, STOP_GRACE_MS)
  stops.push(supervised.stop)
  await untilReady(url, supervised, output)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  say(`it is ready after ${seconds} s`)
  return {
    async end() {
      child.kill('SIGTERM')
      const { code, signal } = await supervised.exited
      if (code !== 0) throw new Error(`serve ended with ${code ?? signal}:\n${output()}`)
    },
  }
}

/** Waits for the facilitator, and for the thread of the directory, which may come later. */
async function untilReady(url: string, { isGone }: Child, output: () => string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  const isOk = async (path: string) =>
    (await fetch(`${url}${path}`).catch(() => undefined))?.ok ?? false
  while (!isGone() && Date.now() < deadline) {
    if ((await isOk('/ready')) && (await isOk('/api/signing'))) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${url} was never ready:\n${output()}`)
}

/** Settles a payment, and checks that the chain has paid it. */
async function settle(url: string, rpcUrl: string): Promise<void> {
  const [payment] = await signPayments(1)
  const before = await usdcBalance(rpcUrl, devnetMerchant.address)
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/settle`, {
    method: 'POST',
    headers,
    body: payment?.body ?? '',
  })
  const text = await answer.text()
  if (JSON.parse(text).success !== true) throw new Error(`settle answered ${text}`)
  const paid = (await usdcBalance(rpcUrl, devnetMerchant.address)) - before
  if (paid !== 1n) throw new Error(`the merchant got ${paid}`)
  say('it settles a payment')
}

/** Lists an API, finds it in the catalog and buys from it. */
async function sellByListing(url: string, rpcUrl: string): Promise<void> {
  const port = await freePort()
  const shop = await startSampleApi({
    port,
    facilitatorUrl: url,
    payTo: devnetMerchant.address,
    assets: { usdc: devnetContracts.usdc, eurc: devnetContracts.eurc },
    network,
  })
  stops.push(shop.stop)
  const client = createArcusClient({ url })
  const endpoint = { method: 'GET', title: 'A line worth a cent', price: quotePrice } as const
  const { endpoints } = await client.listings(devnetMerchant.account).save('check', {
    name: 'Check',
    description: 'Sells a line to the check of a release.',
    payTo: devnetMerchant.address,
    endpoints: [{ ...endpoint, url: `${shop.url}/quote`, description: 'A proverb about money.' }],
  })
  const [listed] = endpoints
  if (listed?.state.status !== 'live') {
    throw new Error(`the listed endpoint is not live: ${JSON.stringify(listed?.state)}`)
  }
  const { resources } = await client.find('a proverb about money')
  const item = resources.find(({ resource }) => resource === `${shop.url}/quote`)
  if (item === undefined) throw new Error('the catalog does not list what was saved')
  const before = await usdcBalance(rpcUrl, devnetPayer.address)
  const { response } = await client.pay(item, {
    signer: devnetPayer.account,
    maxAmount: quotePrice,
  })
  const text = await response.text()
  const spent = before - (await usdcBalance(rpcUrl, devnetPayer.address))
  if (!response.ok || spent !== BigInt(quotePrice)) {
    throw new Error(`the shop answered ${response.status} ${text}, and ${spent} was spent`)
  }
  say('it lists an API, which is found and paid')
}

/** Opens the console in a browser, which shows what was listed. */
async function openConsole(url: string): Promise<void> {
  if (findChromium() === undefined && !process.env.CI) {
    say('the console is not opened: there is no Chromium')
    return
  }
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    const faults: string[] = []
    page.on('pageerror', ({ message }) => faults.push(message))
    await page.goto(`${url}/merchants/check`)
    await page.getByText('A line worth a cent').first().waitFor()
    if (faults.length > 0) throw new Error(`the console has errors: ${faults.join(', ')}`)
  } finally {
    await browser.close()
  }
  say('its console shows the API in a browser')
}

function renameIfPresent(name: string): void {
  try {
    renameSync(join(folder, name), join(folder, `damaged-${name}`))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function start(words: readonly string[]) {
  const { PATH, HOME } = process.env
  const child = spawn(program, [...leading, ...words], {
    cwd: folder,
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  }
  return { child, output: () => text }
}

/** Runs a verb to its end. Throws unless it ends with this code and has written these texts. */
async function expectExit(code: number, words: string[], ...texts: string[]): Promise<void> {
  const { child, output } = start(words)
  const ended = await new Promise((resolve, reject) => {
    child.once('close', resolve)
    child.once('error', reject)
  })
  if (ended !== code || texts.some((text) => !output().includes(text))) {
    throw new Error(`arcus ${words.join(' ')} ended with ${ended}:\n${output()}`)
  }
}

function say(line: string): void {
  process.stdout.write(`  ok  ${line}\n`)
}
