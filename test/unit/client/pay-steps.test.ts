import { createPay, type PaySteps } from '@arcus/client/pay'
import { encodePaymentRequiredHeader, encodePaymentResponseHeader } from '@x402/core/http'
import { expect, it } from 'vitest'
import { devnetPayer } from '../../../src/devnet/accounts.js'

const network = 'eip155:5042'
const transaction = `0x${'aa'.repeat(32)}`
const required = {
  x402Version: 2,
  resource: { url: 'https://api.example.com/tides' },
  accepts: [
    {
      scheme: 'exact',
      network,
      amount: '10000',
      maxTimeoutSeconds: 60,
      asset: '0x3600000000000000000000000000000000000000',
      payTo: '0x00000000000000000000000000000000000000b2',
      extra: { name: 'USDC', version: '2' },
    },
  ],
}

/** A seller who asks for a cent once, and then answers; and what the buyer saw, in order. */
function aPurchase(steps: PaySteps) {
  const seen: string[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { headers } = new Request(input, init)
    const isPaid = headers.has('payment-signature')
    seen.push(isPaid ? 'paid' : 'asked')
    const settlement = { success: true, transaction, network, payer: devnetPayer.account.address }
    return isPaid
      ? new Response('goods', {
          headers: { 'payment-response': encodePaymentResponseHeader(settlement as never) },
        })
      : new Response('{}', {
          status: 402,
          headers: { 'payment-required': encodePaymentRequiredHeader(required as never) },
        })
  }
  const paying = createPay(fetch, {
    choose: async ({ amount }) => void seen.push(`chosen ${amount}`),
    sign: async ({ payer }) => void seen.push(`signed by ${payer}`),
    ...steps,
  })('https://api.example.com/tides', { signer: devnetPayer.account, maxAmount: '10000' })
  return { seen, paying }
}

it('tells the payer of each step before it goes on, and of the answer before the call ends', async () => {
  const { seen, paying } = aPurchase({
    async reply({ response, settlement }) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      seen.push(`${response.status} ${settlement?.transaction}`)
    },
  })
  const paid = await paying
  seen.push('ended')
  expect(seen).toEqual([
    ...['asked', 'chosen 10000', `signed by ${devnetPayer.account.address}`],
    ...['paid', `200 ${transaction}`, 'ended'],
  ])
  // The body is the caller's to read.
  expect(await paid.response.text()).toBe('goods')
})

it.each(['choose', 'sign'] as const)('pays nothing when the step %s fails', async (step) => {
  const { seen, paying } = aPurchase({
    [step]: async () => {
      throw new Error('the ledger is full')
    },
  })
  await expect(paying).rejects.toThrow('the ledger is full')
  expect(seen).not.toContain('paid')
})

it('ends with the error of the step that hears the answer', async () => {
  const { seen, paying } = aPurchase({
    async reply() {
      throw new Error('not what was signed')
    },
  })
  await expect(paying).rejects.toThrow('not what was signed')
  expect(seen.at(-1)).toBe('paid')
})
