import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { parseDatabaseUrl } from '../app/config/setting-types.js'
import { CommandError, defineCommand, print, UsageError } from './command-line.js'

const help = `arcus init [--network testnet|mainnet] [--address URL] [--database URL] [--keys N]

Writes .env and relayer.keys into this folder, readable by you alone, and names the wallets to fund. It asks for the network
and the address, unless they are given. It never writes over a file.

  --network NAME   testnet, where the money is free, or mainnet
  --address URL    the public address, such as https://pay.example.com; http://localhost:4021 to try it on this machine
  --database URL   sqlite:PATH or postgres://..., default sqlite:./data/arcus.db
  --keys N         relayer wallets to make, 1 to 20, default 2
  --help           this text`

const networks = {
  testnet: {
    title: 'Arc testnet',
    setting: 'TESTNET_RPC_URLS=https://rpc.testnet.arc.io',
    funds: 'Get test USDC for each at https://faucet.circle.com (choose Arc Testnet).',
  },
  mainnet: {
    title: 'Arc mainnet',
    setting: 'MAINNET_RPC_URLS=https://rpc.mainnet.arc.io,https://rpc.quicknode.mainnet.arc.io',
    funds: 'Send each a few dollars of USDC on Arc: 10 dollars pay for some 4,300 settlements.',
  },
}

const LOCAL_ADDRESS = 'http://localhost:4021'
const KEY_FILE = 'relayer.keys'

const config = {
  options: {
    network: { type: 'string' },
    address: { type: 'string' },
    database: { type: 'string' },
    keys: { type: 'string', default: '2' },
  },
} as const

export const command = defineCommand(help, config, async ({ values }) => {
  for (const file of ['.env', KEY_FILE]) {
    if (existsSync(file)) throw new CommandError(`${file} is here already: nothing was written.`)
  }
  const count = /^\d{1,2}$/.test(values.keys) ? Number(values.keys) : 0
  if (count < 1 || count > 20) throw new UsageError('--keys wants a number from 1 to 20.')
  const database = values.database === undefined ? undefined : readDatabase(values.database)
  const { network, address } = await completed(values.network, values.address)
  const keys = Array.from({ length: count }, generatePrivateKey)
  writeSecret(KEY_FILE, keys.map((key) => `${key}\n`).join(''))
  writeSecret('.env', settingsText(network, address, database))
  const { title, funds } = networks[network]
  print(`Wrote .env and ${KEY_FILE} for ${title}. Keep a copy of both off this machine.

Wallets that pay the gas:
${keys.map((key) => `  ${privateKeyToAddress(key)}`).join('\n')}

${funds}
Then: arcus doctor (in a checkout: npm run doctor)`)
})

type NetworkName = keyof typeof networks

/** Asks for what was not given, if a person is at the terminal. */
async function completed(network: string | undefined, address: string | undefined) {
  if (network !== undefined && address !== undefined) {
    return { network: readNetwork(network), address: readAddress(address) }
  }
  if (!process.stdin.isTTY) throw new UsageError('Give --network and --address.')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const name =
      network ?? ((await terminal.question('Network, testnet or mainnet [testnet]: ')) || 'testnet')
    const asked = `Public address, such as https://pay.example.com [${LOCAL_ADDRESS}]: `
    const url = address ?? ((await terminal.question(asked)) || LOCAL_ADDRESS)
    return { network: readNetwork(name.trim()), address: readAddress(url.trim()) }
  } finally {
    terminal.close()
  }
}

function readNetwork(name: string): NetworkName {
  if (name === 'testnet' || name === 'mainnet') return name
  throw new UsageError(`The network is testnet or mainnet, not "${name}".`)
}

function readAddress(text: string): string {
  const url = parseUrl(text)
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/'
  if (isOrigin && url.search === '' && url.hash === '' && url.username === '') return url.origin
  throw new UsageError(
    `The address is one such as https://pay.example.com, without a path, not "${text}".`,
  )
}

function readDatabase(text: string): string {
  const database = parseDatabaseUrl(text)
  if (typeof database !== 'string') return text
  throw new UsageError(`--database ${database}.`)
}

function settingsText(network: NetworkName, address: string, database: string | undefined): string {
  const isMainnet = network === 'mainnet'
  const lines = [
    '# Written by arcus init. .env.example explains these settings and all others.',
    networks[network].setting,
    `RELAYER_PRIVATE_KEYS_FILE=./${KEY_FILE}`,
    `BASE_URL=${address}`,
    `DIRECTORY_URL=${address}`,
    ...listeningSettings(new URL(address)),
    ...(database === undefined ? [] : [`DATABASE_URL=${database}`]),
    'DAILY_GAS_LIMIT_USD=25',
    ...(isMainnet ? ['MIN_AMOUNT=2300'] : []),
    `WEBHOOK_KEY=${randomBytes(32).toString('hex')}`,
    'NODE_ENV=production',
  ]
  return `${lines.join('\n')}\n`
}

/** A proxy answers at an address with TLS. Without TLS the port of the address is the one that Arcus listens on. */
function listeningSettings({ protocol, port }: URL): string[] {
  if (protocol === 'https:') return ['TRUST_PROXY=1']
  return port === '' ? [] : [`PORT=${port}`]
}

function writeSecret(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
}
