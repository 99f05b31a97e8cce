import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Listing, ListingEndpoint } from '@arcus/protocol/listing/listing'
import { mnemonicToAccount } from 'viem/accounts'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { fileOf, registerAgent } from './an-agent.js'
import type { BrowserWorld } from './browser-world.js'
import { buyback } from './strangers.js'

const run = promisify(execFile)

/** More wallets of the public test mnemonic, for more owners. */
export const owners = [5, 6, 7, 8].map((addressIndex) =>
  mnemonicToAccount('test test test test test test test test test test test junk', {
    addressIndex,
  }),
)

type Draft = Omit<Partial<ListingEndpoint>, 'url'> & { path: string; title: string; price: string }

/** Lists six merchants of different kinds, one of them official and one with an agent. */
export async function fillDirectory(world: BrowserWorld): Promise<void> {
  const at = ({ path, ...endpoint }: Draft) => {
    const url = `${world.strangers.url}${path}`
    return { method: 'GET', ...endpoint, url } as ListingEndpoint
  }
  const list = (id: string, owner: number, wish: Partial<Listing>, endpoints: Draft[]) =>
    world.list(id, { ...wish, endpoints: endpoints.map(at) }, owners[owner])

  await world.list('penny-weather', {
    name: 'Penny Weather',
    description: 'Forecasts, tides and air quality for any place on Earth, a cent a call.',
    endpoints: [
      at({
        path: '/weather/forecast',
        title: 'Seven-day forecast',
        description: 'Hourly temperature, wind and rain for the next seven days.',
        price: '10000',
        tags: ['weather', 'forecast'],
        example: { queryParams: { city: 'Lisbon', days: 7 } },
        inputSchema: {
          type: 'object',
          properties: {
            city: { type: 'string', description: 'A place name' },
            days: { type: 'integer', minimum: 1, maximum: 7 },
          },
          required: ['city'],
        },
      }),
      at({
        path: '/tides/today',
        title: 'Tides today',
        description: 'High and low water at a port.',
        price: '2500',
        tags: ['weather', 'sea'],
        example: { queryParams: { port: 'Horta' } },
      }),
      at({
        path: '/post-only/air',
        method: 'POST',
        title: 'Air quality along a route',
        description: 'Fine dust and ozone for each leg of a route.',
        price: '50000',
        pricing: 'metered',
        tags: ['weather', 'air'],
        example: { body: { route: ['Porto', 'Braga'] } },
      }),
    ],
  })
  await list(
    'plain-translate',
    0,
    {
      name: 'Plain Translate',
      description: 'Translation between 40 languages that keeps formatting and names.',
    },
    [
      {
        path: '/post-only/translate',
        method: 'POST',
        title: 'Translate a text',
        description: 'Up to 5,000 characters.',
        price: '50000',
        tags: ['language'],
        example: { body: { text: 'Bom dia', to: 'en' } },
        inputSchema: {
          type: 'object',
          properties: { text: { type: 'string' }, to: { type: 'string' } },
          required: ['text', 'to'],
        },
      },
      {
        path: '/tides/detect',
        title: 'Detect the language',
        description: 'The three most likely languages of a text.',
        price: '2500',
        tags: ['language'],
        example: { queryParams: { text: 'Bom dia' } },
      },
    ],
  )
  await list(
    'ledger-lens',
    1,
    { name: 'Ledger Lens', description: 'Labels, balances and histories of addresses.' },
    [
      {
        path: '/weather/address',
        title: 'Who is this address',
        description: 'Labels known for an address, with sources.',
        price: '10000',
        tags: ['chain', 'data'],
        example: { queryParams: { address: '0x1111111111111111111111111111111111111111' } },
      },
    ],
  )
  await list(
    'paper-trail',
    2,
    { name: 'Paper Trail', description: 'Scientific papers as clean text with references.' },
    [
      {
        path: '/weather/paper',
        title: 'Paper by DOI',
        description: 'Full text and references of an open-access paper.',
        price: '10000',
        tags: ['research'],
        example: { queryParams: { doi: '10.1000/182' } },
      },
      {
        path: '/tides/cite',
        title: 'Who cites it',
        description: 'Papers that cite this one, newest first.',
        price: '2500',
        tags: ['research'],
        example: { queryParams: { doi: '10.1000/182' } },
      },
    ],
  )
  await list(
    'sleepy-maps',
    3,
    { name: 'Sleepy Maps', description: 'Map tiles and routes. Out of order at the moment.' },
    [
      {
        path: '/broken/route',
        title: 'Route between two places',
        description: 'Distance, time and steps.',
        price: '10000',
        tags: ['maps'],
        example: { queryParams: { from: 'Porto', to: 'Lisbon' } },
      },
    ],
  )
  await list(
    'arc-index',
    0,
    {
      name: 'Arc Index',
      description: 'Blocks, fees and payments of Arc, from the operator of this directory.',
      payTo: buyback,
    },
    [
      {
        path: '/official/fees',
        title: 'Fees of the last hour',
        description: 'Base fee by block, and what a settlement costs.',
        price: '10000',
        tags: ['chain', 'data'],
        example: { queryParams: { blocks: 120 } },
      },
    ],
  )
  await markOfficial(world, 'arc-index')
  await registerAgent(world.chainUrl, fileOf(0))
  await world.client(devnetMerchant.account).linkAgent('penny-weather', '0')
}

async function markOfficial(world: BrowserWorld, id: string): Promise<void> {
  const args = ['--import', 'tsx', 'src/cli/arcus.ts', 'merchants', 'official', id, 'on']
  await run(process.execPath, args, {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: `sqlite:${world.databasePath}`,
      MAINNET_RPC_URLS: world.chainUrl,
      BUYBACK_ADDRESS: buyback,
    },
  })
}
