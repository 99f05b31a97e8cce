import { type ReasonKey, reasons } from '@arcus/protocol/x402/reasons'
import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetContracts, fundNative, mintUsdc, readArtifact } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel, asset, type BatchBody, type Channel } from '../support/a-channel.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

let world: World
const stranger = anAccount().address
const { abi } = readArtifact('BatchSettlement')

beforeAll(async () => {
  world = await startWorld()
  await fundNative(world.chainUrl, stranger, 10n ** 20n)
  await call(world.chainUrl, 'anvil_impersonateAccount', [stranger])
})
afterAll(() => world.stop())

const settle = async (body: unknown) => (await world.post('/settle', body)).body
const refusal = (reason: ReasonKey) => ({ success: false, errorReason: reasons[reason].code })

async function anOpenChannel(): Promise<Channel> {
  const channel = aChannel()
  await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
  expect(await settle(await channel.deposit('100000'))).toMatchObject({ success: true })
  return channel
}

/** Brings it on chain past the facilitator; resolves the moment it is in a block. */
async function byStranger(functionName: string, args: unknown[]): Promise<Hex> {
  const data = encodeFunctionData({ abi, functionName, args })
  const transaction = { from: stranger, to: devnetContracts.batchSettlement, data, gas: '0x7a120' }
  const sent = await call<Hex>(world.chainUrl, 'eth_sendTransaction', [transaction])
  while ((await call(world.chainUrl, 'eth_getTransactionReceipt', [sent])) === null);
  return sent
}

function claimByStranger({ paymentPayload }: BatchBody): Promise<Hex> {
  const { claims, claimAuthorizerSignature } = paymentPayload.payload
  return byStranger('claimWithSignature', [claims, claimAuthorizerSignature])
}

const upTo = (total: string) => ({ max: total, total })
const TIMES = Array.from({ length: 6 }, (_, i) => i)

describe('a claim of what was claimed a moment ago', () => {
  it('names the transaction that claimed it, also where others did', async () => {
    const channel = await anOpenChannel()
    for (const i of TIMES) {
      const [own, theirs, less] = [3, 6, 5].map((part) => String(10_000 * i + 1_000 * part))
      const first = await settle(await channel.claim(upTo(own as string)))
      expect(first).toMatchObject({ success: true })
      const transaction = await claimByStranger(await channel.claim(upTo(theirs as string)))
      const later = await channel.claim({ max: theirs as string, total: less as string })
      expect(await settle(later)).toMatchObject({ success: true, transaction })
      // Earlier claims belong to the transaction before it.
      const before = await channel.claim({ max: theirs as string, total: own as string })
      expect(await settle(before)).toMatchObject({
        success: true,
        transaction: first.transaction,
      })
    }
  })
})

describe('a payout of what was paid out a moment ago', () => {
  it('names the transaction that paid it, also where others sent it and the amounts are equal', async () => {
    const channel = await anOpenChannel()
    for (const i of TIMES) {
      await settle(await channel.claim(upTo(String(2_000 * i + 1_000))))
      const first = await settle(channel.settle())
      expect(first).toMatchObject({ success: true, amount: '1000' })
      await settle(await channel.claim(upTo(String(2_000 * i + 2_000))))
      const transaction = await byStranger('settle', [channel.receiver, asset])
      expect(await settle(channel.settle())).toMatchObject({
        ...refusal('batchNothingToSettle'),
        transaction,
      })
    }
  })
})
