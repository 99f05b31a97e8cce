import { createListingClient } from '@arcus/client/listing-client'
import { afterEach, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { type Receiver, refusalOf, startReceiver } from '../support/a-receiver.js'
import { aSignedPayment, somePayments } from './support/payments.js'
import { startReplicas } from './support/replicas.js'
import { startWorld, until } from './support/world.js'

const settings = { PROBE_ALLOW_PRIVATE_HOSTS: 'true', WEBHOOK_KEY: 'ab'.repeat(32) }

let world: { close(): Promise<void> } | undefined
let receiver: Receiver | undefined
afterEach(async () => {
  receiver?.close()
  await world?.close()
})

/** Lists the recipient of all payments, and sets a webhook; gives its secret. */
async function follow(directoryUrl: string, url: string): Promise<string> {
  const { account } = devnetMerchant
  const terms = await (await fetch(`${directoryUrl}/api/signing`)).json()
  const { audience } = terms as { audience: string }
  const client = createListingClient({ directoryUrl, audience, signer: account })
  // Nothing answers there, which a listing may begin with.
  const endpoint = {
    url: 'http://127.0.0.1:1/quote',
    method: 'GET',
    title: 'Q',
    price: '1',
  } as const
  await client.save('shop', { name: 'Shop', payTo: account.address, endpoints: [endpoint] })
  const types = ['payment.settled' as const]
  const { secret } = await client.setHook('shop', { id: null, url, types, since: null })
  return secret as string
}

const nonces = (from: Receiver) =>
  from.deliveries.filter(({ status }) => status < 300).map(({ event }) => event.data.nonce)

it('a receiver that fails five times while the service is killed twice gets each payment, in order', async () => {
  const own = await startWorld({ env: settings })
  world = own
  let failures = 0
  const hears = await startReceiver(({ event }) => {
    const isFirst = event.cursor === hears.deliveries[0]?.event.cursor || failures === 0
    return isFirst && failures++ < 5 ? 500 : 204
  })
  receiver = hears
  const secret = await follow(own.service().url, hears.url)
  const payments = await somePayments(20)
  await own.client.settleUntilTold(payments.slice(0, 5), 20_000)
  for (const crash of [0, 1]) {
    await until('the receiver was asked', async () => failures > crash + 1)
    const settling = own.client.settleUntilTold(
      payments.slice(5 + crash * 5, 10 + crash * 5),
      30_000,
    )
    await own.service().crash()
    await own.restart()
    await settling
  }
  await own.client.settleUntilTold(payments.slice(15), 20_000)
  await until(
    'each payment was told',
    async () => new Set(nonces(hears)).size >= payments.length,
    90_000,
  )
  expect(new Set(nonces(hears))).toEqual(new Set(payments.map(({ nonce }) => nonce)))
  const cursors = hears.deliveries.map(({ event }) => event.cursor)
  expect(cursors).toEqual([...cursors].sort((a, b) => a - b))
  expect(failures).toBeGreaterThanOrEqual(5)
  for (const delivery of hears.deliveries) expect(refusalOf(delivery, secret)).toBeUndefined()
})

it('of two replicas one works for a hook, and the other goes on when it dies', async () => {
  const own = await startReplicas({ replicas: 2, relayers: 2, env: settings })
  world = own
  const hears = await startReceiver()
  receiver = hears
  await follow(own.service(0).url, hears.url)
  const before = await somePayments(20)
  await own.client.settleUntilTold(before, 30_000)
  const told = (count: number) => async () => new Set(nonces(hears)).size >= count
  await until('all were told', told(before.length), 60_000)
  // Nobody died, so that nothing comes twice.
  expect(nonces(hears)).toHaveLength(before.length)
  for (const victim of [0, 1]) {
    await own.service(victim).crash()
    const payment = await aSignedPayment()
    await own.client.settleUntilTold([payment], 60_000)
    await own.restart(victim)
  }
  await until('those after it too', told(before.length + 2), 90_000)
  const cursors = hears.deliveries.map(({ event }) => event.cursor)
  expect(cursors).toEqual([...cursors].sort((a, b) => a - b))
})
