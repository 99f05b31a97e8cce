import { recoverTransactionAddress, type TransactionSerialized, toHex } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetRelayers } from '../../src/devnet/accounts.js'
import { fundNative } from '../../src/devnet/fixtures.js'
import { call, callBatch } from '../../src/devnet/rpc.js'
import { pause, refused } from './support/behaviours.js'
import { type SignedPayment, somePayments } from './support/payments.js'
import {
  auditWorld,
  expectAllSettledAndTrue,
  startWorld,
  until,
  type World,
} from './support/world.js'

const SEND = 'eth_sendRawTransaction'
const GWEI = 10n ** 9n
const [firstRelayer] = devnetRelayers
const relayer = firstRelayer as (typeof devnetRelayers)[number]
const PURSE = 100n * 10n ** 18n

let world: World

afterEach(() => world?.close())

describe('a relayer nonce that drifts', () => {
  it('below the chain, because somebody else used the key while Arcus was idle', async () => {
    world = await startWorld()
    await world.client.settleAll(await somePayments(1))
    for (let i = 0; i < 3; i++) await useKeyElsewhere(await latestNonce())
    await pause(600)
    await expectAllSettledAndTrue(world, await somePayments(20))
  })

  it('below the chain, because somebody else outbids Arcus under load', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const goOn = await world.holdBlocks()
    const settling = spread(payments, 600)
    await until('something was sent', () => world.proxy.count(SEND) > 0)
    await useKeyElsewhere(await latestNonce())
    await goOn()
    await pause(700)
    await useKeyElsewhere(await latestNonce())
    await settling
    await expectAllSettledAndTrue(world, payments)
  })

  it('above the chain, so that nonces between must be filled', async () => {
    world = await startWorld()
    for (let i = 0; i < 5; i++) await world.client.settleAll(await somePayments(1))
    await call(world.chainUrl, 'anvil_setNonce', [
      relayer.address,
      toHex((await latestNonce()) - 3),
    ])
    await expectAllSettledAndTrue(world, await somePayments(20))
  })

  it('above the chain after a restart', async () => {
    world = await startWorld()
    for (let i = 0; i < 5; i++) await world.client.settleAll(await somePayments(1))
    await world.service().crash()
    await call(world.chainUrl, 'anvil_setNonce', [
      relayer.address,
      toHex((await latestNonce()) - 3),
    ])
    await world.restart()
    await expectAllSettledAndTrue(world, await somePayments(20))
  })

  it('above the chain, because the nodes dropped what waited', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const goOn = await world.holdBlocks()
    const settling = spread(payments, 500)
    await until('something was sent', () => world.proxy.count(SEND) > 2)
    await pause(300)
    await call(world.chainUrl, 'anvil_dropAllTransactions')
    await goOn()
    await settling
    await expectAllSettledAndTrue(world, payments)
  })
})

describe('a base fee that jumps tenfold', () => {
  it('while transactions wait has them replaced', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const goOn = await world.holdBlocks()
    const settling = spread(payments, 500)
    await until('something was sent', () => world.proxy.count(SEND) > 2)
    await setBaseFee(200n * GWEI)
    await goOn()
    const jumpedAt = Date.now()
    await settling
    await expectAllSettledAndTrue(world, payments, { withinMs: jumpedAt + 10_000 - Date.now() })
  })

  it('beyond the cap is waited out, and refused to newcomers', async () => {
    world = await startWorld({ env: { MAX_FEE_PER_GAS_GWEI: '100' } })
    const payments = await somePayments(10)
    const goOn = await world.holdBlocks()
    const settling = world.client.settleAll(payments)
    await until('something was sent', () => world.proxy.count(SEND) > 0)
    await setBaseFee(200n * GWEI)
    await pause(1_500)
    const [newcomer] = (await somePayments(1)) as [SignedPayment]
    const { body } = await world.client.settle(newcomer)
    expect(body).toMatchObject({ success: false, errorReason: 'gas_price_too_high' })
    await setBaseFee(20n * GWEI)
    await goOn()
    const endedAt = Date.now()
    await settling
    const withinMs = endedAt + 10_000 - Date.now()
    await expectAllSettledAndTrue(world, [...payments, newcomer], { withinMs })
  })
})

describe('a relayer without gas money', () => {
  it('hands its payments to the other one, and readiness says so', async () => {
    world = await startWorld({ relayers: 2 })
    const payments = await somePayments(20)
    const settling = spread(payments, 800)
    await pause(300)
    await fundNative(world.chainUrl, relayer.address, 0n)
    await settling
    await expectAllSettledAndTrue(world, payments)
    await expectAllSettledAndTrue(world, await somePayments(10))
    expect(await readiness()).toMatch(
      new RegExp(`${relayer.address} holds 0[^;]*(closed|fund)`, 'i'),
    )
  })

  it.each([1, 2])(
    'is told so while earlier transactions are under way, with %i lanes',
    async (relayers) => {
      world = await startWorld({ relayers })
      const payments = await somePayments(20)
      const goOn = await world.holdBlocks()
      const settling = spread(payments, 600)
      await until('several were sent', () => world.proxy.count(SEND) > 4)
      world.proxy.fault(SEND, refused('insufficient funds for gas * price + value'), { times: 1 })
      await pause(800)
      await goOn()
      const endedAt = Date.now()
      await settling
      await expectAllSettledAndTrue(world, payments, { withinMs: endedAt + 10_000 - Date.now() })
    },
  )

  it('is the only one: what fails is told truly, and a refill mends it', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const settling = spread(payments, 800)
    await pause(300)
    await fundNative(world.chainUrl, relayer.address, 0n)
    await pause(6_000)
    const dry = await world.client.settle((await somePayments(1))[0] as SignedPayment)
    expect(dry.body).toMatchObject({ success: false })
    await fundNative(world.chainUrl, relayer.address, PURSE)
    const refilledAt = Date.now()
    await settling
    const withinMs = refilledAt + 10_000 - Date.now()
    await expectAllSettledAndTrue(world, [...payments, dry.payment], { withinMs })
  })
})

describe('a relayer on the blocklist of the chain', () => {
  it('hands its payments to the other one', async () => {
    world = await startWorld({ relayers: 2 })
    blockFirstRelayer()
    const payments = await somePayments(20)
    await spread(payments, 500)
    await expectAllSettledAndTrue(world, payments)
  })

  it('is the only one: what fails is told truly, and its pardon mends it', async () => {
    world = await startWorld()
    const lift = blockFirstRelayer()
    const payments = await somePayments(10)
    await world.client.settleAll(payments)
    expect(await auditWorld(world)).toMatchObject({ onChain: 0 })
    lift()
    await expectAllSettledAndTrue(world, payments)
  })
})

function spread(payments: readonly SignedPayment[], ms: number) {
  return Promise.all(
    payments.map(async (payment, i) => {
      await pause((i * ms) / payments.length)
      return world.client.settle(payment)
    }),
  )
}

function blockFirstRelayer(): () => void {
  return world.proxy.fault(SEND, async (call) => {
    const serializedTransaction = call.params[0] as TransactionSerialized
    const sender = await recoverTransactionAddress({ serializedTransaction })
    if (sender !== relayer.address) return call.forward()
    return { error: { code: -32000, message: 'sender is on the blocklist' } }
  })
}

async function latestNonce(): Promise<number> {
  const params = [relayer.address, 'latest']
  return Number(await call<string>(world.chainUrl, 'eth_getTransactionCount', params))
}

/** A transaction of another owner of the key, dear enough to push out one of Arcus. */
async function useKeyElsewhere(nonce: number): Promise<void> {
  const raw = await relayer.account.signTransaction({
    type: 'eip1559',
    chainId: 5042,
    nonce,
    to: devnetMerchant.address,
    value: 1n,
    gas: 21_000n,
    maxFeePerGas: 900n * GWEI,
    maxPriorityFeePerGas: 50n * GWEI,
  })
  await call(world.chainUrl, SEND, [raw])
  await until('the foreign transaction is taken', async () => {
    const pending = [relayer.address, 'pending']
    return Number(await call<string>(world.chainUrl, 'eth_getTransactionCount', pending)) > nonce
  })
  await pause(300)
}

/** For when no blocks are made by themselves. */
async function setBaseFee(wei: bigint): Promise<void> {
  await callBatch(world.chainUrl, [['anvil_setNextBlockBaseFeePerGas', [toHex(wei)]], ['evm_mine']])
}

async function readiness(): Promise<string> {
  return (await fetch(`${world.service().url}/ready`)).text()
}
