import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import type { Listing } from '@arcus/protocol/listing/listing'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import type { World } from '../support/arcus.js'

/** The outcome of a call without payment. */
export interface Call {
  method: string | undefined
  url: string | undefined
  body: string
  headers: IncomingMessage['headers']
}

export const requirement = {
  scheme: 'exact',
  network: 'eip155:5042',
  amount: '10000',
  asset: devnetContracts.usdc,
  payTo: devnetMerchant.address,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}

/** A paid API that answers every call with a 402, remembers it, and can be made to ask for something else. */
export async function startPaidApi() {
  const calls: Call[] = []
  const api = { calls, required: {} as object, url: '', stop: () => server.close() }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    calls.push({ method: request.method, url: request.url, body, headers: request.headers })
    const resource = { url: `${api.url}${request.url}`, description: 'Asks for a cent' }
    const required = { x402Version: 2, resource, accepts: [requirement], ...api.required }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return api
}

/** Lists as the merchant of the devnet. */
export function saveListing(world: World, id: string, listing: Omit<Listing, 'payTo'>) {
  const client = createListingClient({
    directoryUrl: world.url,
    // The service was told no public name, so it goes by the default one.
    audience: `http://localhost:${new URL(world.url).port}`,
    signer: devnetMerchant.account,
  })
  return client.save(id, { ...listing, payTo: devnetMerchant.address })
}
