import { reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aClaimOf } from '../support/a-channel.js'
import { DOLLAR, type GasWorld, startGasWorld } from '../support/gas-world.js'

const tooLittle = { success: false, errorReason: reasons.amountBelowMinimum.code, transaction: '' }
const repeated = { success: false, errorReason: reasons.batchRepeatedChannel.code, transaction: '' }

let world: GasWorld
const settle = (body: unknown) => world.settle(body)

describe('gas that buys less than it costs', () => {
  beforeAll(async () => {
    world = await startGasWorld()
  })
  afterAll(() => world.stop())

  it('is not spent on a claim whose rows gain less together', async () => {
    const channels = await world.filledChannels(40)
    const gas = await world.gasOf(async () => {
      const dust = await aClaimOf(channels, '1')
      const told = await settle(dust)
      expect(told).toMatchObject(tooLittle)
      expect(told.errorMessage).toMatch(/0\.00004 dollars .* of gas/)
    })
    expect(gas).toBe(0n)
    // One row alone takes some 90,000 gas, 40 rows some 30,000 each.
    expect(await settle(await aClaimOf(channels.slice(0, 1), '1500'))).toMatchObject(tooLittle)
    expect(await settle(await aClaimOf(channels.slice(0, 1), '2500'))).toMatchObject({
      success: true,
    })
    expect(await settle(await aClaimOf(channels.slice(1), '1000'))).toMatchObject({ success: true })
  })

  it('is not spent on several rows of one channel', async () => {
    const [channel] = await world.filledChannels(1)
    const rows = Array.from({ length: 150 }, (_, i) => {
      const total = String(900_000 + i)
      return { max: total, total }
    })
    expect(await settle(await channel?.claim(...rows))).toMatchObject(repeated)
    expect(await settle(await channel?.refund('50000', '0', '900000', rows))).toMatchObject(
      repeated,
    )
  })

  it('is not spent on a payout of less', async () => {
    // The claim is worth its gas; the part of each receiver is not worth a payout of its own.
    const channels = await world.filledChannels(12)
    expect(await settle(await aClaimOf(channels, '1200'))).toMatchObject({ success: true })
    expect(await settle(channels[0]?.settle())).toMatchObject(tooLittle)
  })

  it('is not spent on a refund of less, nor on rows of other channels beside one that empties its own', async () => {
    const channel = await world.anOpenChannel()
    expect(await settle(await channel.refund('1000', '0', '0'))).toMatchObject(tooLittle)
    const others = await world.filledChannels(30, { authorizer: channel.authorizer })
    const claim = await aClaimOf(others, '1')
    const emptying = await channel.refund('100', '0', '999999', [
      { max: '999999', total: '999999' },
    ])
    const { claims, claimAuthorizerSignature } = claim.paymentPayload.payload
    const alien = structuredClone(emptying)
    Object.assign(alien.paymentPayload.payload, {
      claims,
      claimAuthorizerSignature,
      amount: '999999',
    })
    expect(await settle(alien)).toMatchObject({ success: false, transaction: '' })
    // The last of a payer's money goes back all the same.
    expect(await settle(emptying)).toMatchObject({ success: true, amount: '1' })
  })

  it('is little where claims of the same rows race one another', async () => {
    const channels = await world.filledChannels(20)
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, i) => aClaimOf(channels, String(5_000 + i))),
    )
    const gas = await world.gasOf(() => Promise.all(claims.map(settle)))
    // One of them is worth its gas, of some 0.013 dollars; the others find next to nothing left to claim.
    expect(gas).toBeLessThan(DOLLAR / 20n)
  })
})
