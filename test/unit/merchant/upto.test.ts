import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRefunds } from '@arcus/merchant/refunds'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired, SupportedResponse } from '@x402/core/types'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, it, onTestFinished, vi } from 'vitest'
import {
  aFacilitator,
  aShop,
  payer,
  payTo,
  readRequired,
  readSettlement,
  success,
} from './a-shop.js'

const wallets = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`] as const
const metered = { x402: { price: '$0.05', pricing: 'metered' } } as const

/** The answer of a facilitator that settles `upto` by this wallet. */
function supporting(wallet: string, extensions: string[] = []): SupportedResponse {
  const kind = { x402Version: 2, scheme: 'upto', network: 'eip155:5042' } as const
  const kinds = [{ ...kind, extra: { facilitatorAddress: wallet } }]
  return { kinds, extensions, signers: { 'eip155:*': [...wallets] } }
}

function aFacilitatorOf(supported: () => SupportedResponse) {
  const amounts: string[] = []
  const facilitator = aFacilitator({
    supported,
    settle(_, { amount }) {
      amounts.push(amount)
      return { ...success, amount }
    },
  })
  return { facilitator, amounts }
}

/** Signs nothing: the facilitator of these tests takes every payment. */
function aPayment({ accepts, resource, extensions }: PaymentRequired): string {
  const [accepted] = accepts
  if (accepted === undefined) throw new Error('nothing is asked for')
  const witness = {
    to: accepted.payTo,
    facilitator: accepted.extra.facilitatorAddress,
    validAfter: '0',
  }
  const permitted = { token: accepted.asset, amount: accepted.amount }
  const permit2Authorization = {
    from: payer,
    permitted,
    spender: '0x',
    nonce: '7',
    deadline: '9',
    witness,
  }
  const payload: PaymentPayload = {
    x402Version: 2,
    accepted,
    resource,
    payload: { signature: '0x', permit2Authorization },
    ...(extensions && { extensions }),
  }
  return encodePaymentSignatureHeader(payload)
}

const sell = (charge: string | undefined) => (app: Parameters<Parameters<typeof aShop>[0]>[0]) =>
  app.get('/tool', { config: metered }, async ({ payment }) => {
    if (charge !== undefined) payment?.charge(charge)
    return { scheme: payment?.scheme, payer: payment?.payer }
  })

it.each([
  ['a part', '$0.004', '4000'],
  ['the whole price', undefined, '50000'],
])(
  'a metered price is signed as a ceiling, and %s is settled without a refund',
  async (_, charge, settled) => {
    const { facilitator, amounts } = aFacilitatorOf(() => supporting(wallets[0]))
    const { app } = await aShop(sell(charge), { facilitator })
    const required = readRequired(await app.inject('/tool'))
    expect(required.accepts).toMatchObject([
      {
        scheme: 'upto',
        amount: '50000',
        payTo,
        extra: { name: 'USDC', assetTransferMethod: 'permit2', facilitatorAddress: wallets[0] },
      },
    ])
    const response = await app.inject({
      url: '/tool',
      headers: { 'payment-signature': aPayment(required) },
    })
    expect([response.statusCode, response.json()]).toEqual([200, { scheme: 'upto', payer }])
    expect(amounts).toEqual([settled])
    expect(readSettlement(response)).toMatchObject({ success: true, amount: settled })
  },
)

it('a payment that names another wallet of the facilitator is taken, and one of a stranger is not', async () => {
  const { facilitator } = aFacilitatorOf(() => supporting(wallets[0]))
  const { app } = await aShop(sell('$0.01'), { facilitator })
  const required = readRequired(await app.inject('/tool'))
  const payTo = async (wallet: string) => {
    const [asked] = required.accepts as [PaymentRequired['accepts'][number]]
    const accepts = [{ ...asked, extra: { ...asked.extra, facilitatorAddress: wallet } }]
    const headers = { 'payment-signature': aPayment({ ...required, accepts }) }
    return (await app.inject({ url: '/tool', headers })).statusCode
  }
  expect(await payTo(wallets[1])).toBe(200)
  expect(await payTo(`0x${'33'.repeat(20)}`)).toBe(402)
})

it('a facilitator without upto leaves exact with a refund, and nothing where there are no refunds', async () => {
  const { facilitator } = aFacilitatorOf(() => ({ kinds: [], extensions: [], signers: {} }))
  const folder = mkdtempSync(join(tmpdir(), 'arcus-upto-'))
  const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const refunds = await createRefunds({ facilitator, signer, path: join(folder, 'refunds.jsonl') })
  onTestFinished(async () => {
    await refunds.close()
    rmSync(folder, { recursive: true })
  })
  const x402 = { refunds, payTo: signer.address }
  const withRefunds = await aShop(sell('$0.01'), { facilitator, x402 })
  const { accepts } = readRequired(await withRefunds.app.inject('/tool'))
  expect(accepts.map(({ scheme }) => scheme)).toEqual(['exact'])

  const { app } = await aShop(sell('$0.01'), { facilitator })
  const response = await app.inject('/tool')
  expect([response.statusCode, response.json().error]).toEqual([502, 'facilitator_unavailable'])
})

it('upto comes first, and exact stays for buyers who know nothing else', async () => {
  const { facilitator } = aFacilitatorOf(() => supporting(wallets[0], ['eip2612GasSponsoring']))
  const folder = mkdtempSync(join(tmpdir(), 'arcus-upto-'))
  const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const refunds = await createRefunds({ facilitator, signer, path: join(folder, 'refunds.jsonl') })
  onTestFinished(async () => {
    await refunds.close()
    rmSync(folder, { recursive: true })
  })
  const { app } = await aShop(sell('$0.01'), {
    facilitator,
    x402: { refunds, payTo: signer.address },
  })
  const { accepts, extensions } = readRequired(await app.inject('/tool'))
  expect(accepts.map(({ scheme }) => scheme)).toEqual(['upto', 'exact'])
  expect(Object.keys(extensions ?? {})).toContain('eip2612GasSponsoring')
})

it('a buyer who has not approved Permit2 is answered 412 with the terms', async () => {
  const { facilitator } = aFacilitatorOf(() => supporting(wallets[0]))
  facilitator.verify = async () => ({
    isValid: false,
    invalidReason: 'permit2_allowance_required',
    invalidMessage: 'Approve Permit2.',
    payer,
  })
  const { app } = await aShop(sell('$0.01'), { facilitator })
  const paid = aPayment(readRequired(await app.inject('/tool')))
  const response = await app.inject({ url: '/tool', headers: { 'payment-signature': paid } })
  expect(response.statusCode).toBe(412)
  expect(readRequired(response)).toMatchObject({
    error: 'permit2_allowance_required',
    accepts: [{ scheme: 'upto' }],
  })
})

it('a facilitator that is away at the start is asked again, and asked once a minute from then on', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  let isAway = true
  const supported = vi.fn(() => {
    if (isAway) throw new Error('away')
    return supporting(wallets[supported.mock.calls.length % 2] as string)
  })
  const { facilitator } = aFacilitatorOf(supported)
  const { app } = await aShop(sell('$0.01'), { facilitator })
  const ask = async () => (await app.inject('/tool')).statusCode
  expect(await ask()).toBe(502)
  isAway = false
  expect([await ask(), supported.mock.calls.length]).toEqual([502, 1])
  vi.setSystemTime(Date.now() + 6_000)
  expect([await ask(), await ask(), supported.mock.calls.length]).toEqual([402, 402, 2])
  vi.setSystemTime(Date.now() + 61_000)
  isAway = true
  expect([await ask(), await ask(), supported.mock.calls.length]).toEqual([402, 402, 3])
})
