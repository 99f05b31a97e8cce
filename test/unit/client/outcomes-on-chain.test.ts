import { createBuyer } from '@arcus/client'
import { createMemoryLedger } from '@arcus/client/ledger'
import { x402 } from '@arcus/merchant'
import fastify from 'fastify'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { mintUsdc } from '../../../src/devnet/fixtures.js'
import { call } from '../../../src/devnet/rpc.js'
import { approvePermit2 } from '../../support/a-permit2-payment.js'
import { type Shop, startShop } from '../../support/a-shop.js'
import type { SignedPayment } from '../../support/a-signed-payment.js'
import { anAccount } from '../../support/an-account.js'
import { startWorld, type World } from '../../support/arcus.js'
import { sendToToken } from '../../support/token.js'

const VALID_SECONDS = 8

let world: World
let shop: Shop

beforeAll(async () => {
  world = await startWorld()
  shop = await startShop(world.post)
})
beforeEach(() => {
  shop.demand({ maxTimeoutSeconds: VALID_SECONDS })
  shop.presented.length = 0
})
afterAll(async () => {
  await shop.stop()
  await world.stop()
})

function aBuyer(signer: PrivateKeyAccount, rpcUrl: string | undefined) {
  const limits = { perCall: '$0.05', perDay: '$1', total: '$2' }
  const ledger = createMemoryLedger()
  return createBuyer({ url: world.url, signer, limits, ledger, ...(rpcUrl && { rpcUrl }) })
}

/** Waits until the chain has passed the end of the last payment. */
async function waitForItsEnd() {
  await new Promise((resolve) => setTimeout(resolve, (VALID_SECONDS + 1) * 1_000))
  await call(world.chainUrl, 'evm_mine', [])
}

describe('a payment that failed for want of money', { timeout: 60_000 }, () => {
  it('comes back once the chain calls it unused after its end', async () => {
    const buyer = aBuyer(anAccount(), world.chainUrl)
    expect(await buyer.pay(shop.url)).toMatchObject({ cost: 10_000n, isDecided: false })
    await waitForItsEnd()
    const { left, entries } = await buyer.spent()
    expect([left, entries]).toEqual([{ perDay: 1_000_000n, total: 2_000_000n }, []])
  })

  it('stays spent if the seller puts it on chain afterwards', async () => {
    const payer = anAccount()
    const buyer = aBuyer(payer, world.chainUrl)
    await buyer.pay(shop.url)
    await mintUsdc(world.chainUrl, payer.address, 10_000n)
    const [sent = ''] = shop.presented
    const paymentPayload = JSON.parse(Buffer.from(sent, 'base64').toString())
    await sendToToken(world.chainUrl, { paymentPayload } as SignedPayment)
    await waitForItsEnd()
    const { left, entries } = await buyer.spent()
    expect(left).toEqual({ perDay: 990_000n, total: 1_990_000n })
    expect(entries).toMatchObject([{ state: 'settled', spent: 10_000n }])
  })
})

it.each([
  ['its buyer believes in no limit for good', false, 1_990_000n],
  ['its buyer reads on chain', true, 1_997_000n],
])('a part of a ceiling was charged, which %s', async (_, isRead, total) => {
  const payer = anAccount()
  await mintUsdc(world.chainUrl, payer.address, 20_000n)
  await approvePermit2(world.chainUrl, payer.address, 10n ** 12n)
  const seller = fastify()
  await seller.register(x402, { facilitator: world.url, payTo: devnetMerchant.address })
  const config = { x402: { price: '$0.01', pricing: 'metered' } } as const
  seller.get('/metered', { config }, async ({ payment }) => {
    payment?.charge('$0.003')
    return { goods: true }
  })
  const url = `${await seller.listen({ port: 0, host: '127.0.0.1' })}/metered`
  const buyer = aBuyer(payer, isRead ? world.chainUrl : undefined)
  expect(await buyer.pay(url)).toMatchObject({ cost: 3_000n, left: { perDay: 997_000n, total } })
  await seller.close()
})
