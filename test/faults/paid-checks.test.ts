import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { pause } from './support/behaviours.js'
import { startWorld, until, type World } from './support/world.js'

const key = generatePrivateKey()
const env = { PROBE_ALLOW_PRIVATE_HOSTS: 'true', CHECK_PRIVATE_KEYS: key, CHECK_DAILY_USD: '1' }

let world: World | undefined
let stopSeller: (() => void) | undefined
afterEach(async () => {
  stopSeller?.()
  await world?.close()
})

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

/** A seller who never answers a paid call, and settles it or not. Gives the payments that came. */
async function startSeller(settles: boolean, facilitator: () => string) {
  const accepted = {
    scheme: 'exact',
    network: 'eip155:5042',
    amount: '10000',
    asset: devnetContracts.usdc,
    payTo: devnetMerchant.address,
    maxTimeoutSeconds: 20,
    extra: { name: 'USDC', version: '2' },
  }
  const payments: { success?: boolean }[] = []
  const server = createServer(async (request, response) => {
    const sent = request.headers['payment-signature']
    if (typeof sent !== 'string') {
      const required = { x402Version: 2, resource: { url: 'x' }, accepts: [accepted] }
      return void response.writeHead(402, { 'payment-required': base64(required) }).end()
    }
    const paymentPayload = JSON.parse(Buffer.from(sent, 'base64').toString())
    if (!settles) return void payments.push({})
    const answer = await fetch(`${facilitator()}/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: accepted }),
    })
    payments.push((await answer.json()) as { success: boolean })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stopSeller = () => {
    server.close()
    server.closeAllConnections()
  }
  return { payments, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/goods` }
}

it.each([true, false])(
  'a check that is killed after its payment is closed with the truth and never paid twice (settled: %s)',
  async (settles) => {
    const own = await startWorld({ env })
    world = own
    const { address } = privateKeyToAccount(key)
    await mintUsdc(own.chainUrl, address, 1_000_000n)
    const { payments, url } = await startSeller(settles, () => own.service().url)
    const directoryUrl = own.service().url
    const { audience } = (await (await fetch(`${directoryUrl}/api/signing`)).json()) as {
      audience: string
    }
    const client = createListingClient({ directoryUrl, audience, signer: devnetMerchant.account })
    const { endpoints } = await client.save('shop', {
      name: 'Shop',
      payTo: devnetMerchant.address,
      endpoints: [{ url, method: 'GET', title: 'Goods', price: '10000' }],
    })
    await until('the check has paid', async () => payments.length === 1)
    await own.service().crash()
    await own.restart()

    const path = `/api/merchants/shop/endpoints/${endpoints[0]?.state.id}/checks`
    const checks = async () =>
      ((await (await fetch(`${directoryUrl}${path}`)).json()) as { checks: object[] }).checks
    // A payment that nobody settled is looked for until a minute after its end.
    await until('the check is closed', async () => (await checks()).length === 1, 120_000)
    expect(await checks()).toMatchObject([
      {
        reason: 'interrupted',
        delivered: false,
        amount: settles ? '10000' : '0',
        transaction: settles ? expect.stringMatching(/^0x[0-9a-f]{64}$/) : null,
      },
    ])
    await pause(5_000)
    expect(payments).toHaveLength(1)
    expect(await usdcBalance(own.chainUrl, address)).toBe(settles ? 990_000n : 1_000_000n)
    // An interrupted check says nothing about the endpoint.
    const view = await (await fetch(`${directoryUrl}/api/merchants/shop`)).json()
    expect(view).toMatchObject({ endpoints: [{ state: { delivery: null } }] })
  },
)
