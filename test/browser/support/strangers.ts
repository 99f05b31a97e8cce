import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Address } from 'viem'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { devnetContracts } from '../../../src/devnet/fixtures.js'
import { startServer } from '../../support/a-server.js'
import { fileOf } from './an-agent.js'

/** Paid APIs of other people, each with its own fault. */
export interface Strangers {
  url: string
  stop(): Promise<void>
}

/** The payout address of official merchants in these tests. */
export const buyback: Address = '0x00000000000000000000000000000000b0b0b0b0'

const otherToken: Address = '0x1111111111111111111111111111111111111111'

function quote(wish: Record<string, unknown> = {}) {
  return {
    scheme: 'exact',
    network: 'eip155:5042',
    amount: '10000',
    asset: devnetContracts.usdc,
    payTo: devnetMerchant.address,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
    ...wish,
  }
}

function demand(
  response: ServerResponse,
  wish: Record<string, unknown> = {},
  resource: Record<string, unknown> = {},
): void {
  const required = { x402Version: 2, resource: { url: 'x', ...resource }, accepts: [quote(wish)] }
  const header = Buffer.from(JSON.stringify(required)).toString('base64')
  response.writeHead(402, { 'payment-required': header }).end()
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** Handlers by the first part of the path. */
const handlers: Record<string, Handle> = {
  // Its 402 has everything in the header and nothing in the body.
  '/header-only': (_request, response) => demand(response, {}, { description: 'From a header' }),
  '/weather': (_request, response) => demand(response),
  '/official': (_request, response) => demand(response, { payTo: buyback }),
  '/tides': (_request, response) => demand(response, { amount: '2500' }),
  '/post-only'(request, response) {
    if (request.method === 'POST') demand(response, { amount: '50000' })
    else response.writeHead(405, { allow: 'POST' }).end()
  },
  '/zero': (_request, response) => demand(response, { amount: '0' }),
  '/wrong-asset': (_request, response) => demand(response, { asset: otherToken }),
  '/wrong-network': (_request, response) => demand(response, { network: 'eip155:8453' }),
  '/somebody-else': (_request, response) => demand(response, { payTo: otherToken }),
  '/free': (_request, response) => void response.writeHead(200).end('{}'),
  '/moved': (_request, response) => void response.writeHead(302, { location: '/weather' }).end(),
  // Names this host as that of the first two agents of the registry.
  '/.well-known'(_request, response) {
    const registrations = [0, 1].flatMap((id) => fileOf(id).registrations)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...fileOf(0), registrations }))
  },
  '/broken': (_request, response) => void response.writeHead(500).end(),
  // Longer than people like to wait, and shorter than the limit of a probe.
  '/slow'(_request, response) {
    const timer = setTimeout(() => demand(response), 3_000)
    response.once('close', () => clearTimeout(timer))
  },
}

export async function startStrangers(): Promise<Strangers> {
  const { url, close } = await startServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    // A path below a handler's has the same handler: /weather/7.
    const handle = handlers[`/${path.split('/')[1]}`]
    if (handle === undefined) response.writeHead(404).end()
    else handle(request, response)
  })
  return { url, stop: close }
}
