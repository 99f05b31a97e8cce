import { afterEach, describe, expect, it } from 'vitest'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import { fundNative, nativeBalance } from '../../src/devnet/fixtures.js'
import { pause, refused, refusedThoughForwarded } from './support/behaviours.js'
import { pendingCode } from './support/client.js'
import { type SignedPayment, somePayments } from './support/payments.js'
import { spread } from './support/spread.js'
import { expectAllSettledAndTrue, startWorld, until, type World } from './support/world.js'

const SEND = 'eth_sendRawTransaction'
const BLOCKED = 'sender is on the blocklist'
const [firstRelayer] = devnetRelayers
const relayer = firstRelayer as (typeof devnetRelayers)[number]
const PURSE = 100n * 10n ** 18n
/** For cases that wait until a settle gives up. */
const SHORT_WAIT = { SETTLE_WAIT_SECONDS: '3' }

let world: World

afterEach(() => world?.close())

describe('a relayer without gas money', () => {
  it('hands its payments to the other one, and readiness says so', async () => {
    world = await startWorld({ relayers: 2 })
    const payments = await somePayments(20)
    const settling = spread(world.client, payments, 800)
    await pause(300)
    await fundNative(world.chainUrl, relayer.address, 0n)
    await settling
    await expectAllSettledAndTrue(world, payments)
    await expectAllSettledAndTrue(world, await somePayments(10))
    expect(await readiness()).toMatch(
      new RegExp(`${relayer.address} holds 0[^;]*(closed|fund)`, 'i'),
    )
  })

  it('is the only one: failures are answered truly, and a refill cures it', async () => {
    world = await startWorld({ env: SHORT_WAIT })
    const payments = await somePayments(20)
    const settling = spread(world.client, payments, 800)
    await pause(300)
    await fundNative(world.chainUrl, relayer.address, 0n)
    await pause(4_000)
    const dry = await world.client.settle((await somePayments(1))[0] as SignedPayment)
    expect(dry.body).toMatchObject({ success: false })
    await fundNative(world.chainUrl, relayer.address, PURSE)
    await settling
    await expectAllSettledAndTrue(world, [...payments, dry.payment])
  })
})

describe('what every node refuses', () => {
  it.each([
    ['for want of gas money', 'insufficient funds for gas * price + value'],
    ['because the chain blocks the wallet', BLOCKED],
    ['in words that name no cause', 'not today'],
  ])('is never called on its way: %s', async (_, message) => {
    world = await startWorld({ hasSpare: true, env: SHORT_WAIT })
    const [payment, later] = (await somePayments(2)) as [SignedPayment, SignedPayment]
    const lifts = [world.proxy, world.spare].map((node) => node?.fault(SEND, refused(message)))
    const { body } = await world.client.settle(payment)
    // Merchants wait on only if a transaction is named: it is the signed one, which is kept.
    expect(body).toMatchObject({
      errorReason: pendingCode,
      transaction: expect.stringMatching(/^0x/),
    })
    expect(body?.errorMessage).toMatch(/^No node of the chain has taken/)
    // While its transaction is offered once more, the payment has its hash.
    const untilUntaken = () =>
      until('it is known to be untaken', async () => {
        const view = await world.client.findPayment(payment)
        return view?.state === 'queued' && view.transaction === null
      })
    await untilUntaken()
    await world.service().crash()
    await world.restart()
    await untilUntaken()
    for (const lift of lifts) lift?.()
    await expectAllSettledAndTrue(world, [payment, later])
  })
})

it('the gas of what nodes took although they refused it is counted', async () => {
  world = await startWorld({ relayers: 2 })
  const payments = await somePayments(20)
  const before = await purses()
  world.proxy.fault(SEND, refusedThoughForwarded('insufficient funds for gas'), { times: 2 })
  await spread(world.client, payments, 600)
  await expectAllSettledAndTrue(world, payments)
  const spent = Number(before - (await purses())) / 1e18
  await until('all of it is booked', async () => Math.abs((await bookedUsd()) - spent) < 1e-9)
})

async function purses(): Promise<bigint> {
  const held = devnetRelayers.map(({ address }) => nativeBalance(world.chainUrl, address))
  return (await Promise.all(held)).reduce((sum, balance) => sum + balance, 0n)
}

async function bookedUsd(): Promise<number> {
  const text = await (await fetch(`${world.service().url}/metrics`)).text()
  return Number(/^arcus_gas_usd_total\S* (\S+)$/m.exec(text)?.[1] ?? 0)
}

async function readiness(): Promise<string> {
  return (await fetch(`${world.service().url}/ready`)).text()
}
