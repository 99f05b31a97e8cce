import { toHex } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetRelayers } from '../../src/devnet/accounts.js'
import { call, callBatch } from '../../src/devnet/rpc.js'
import { pause } from './support/behaviours.js'
import { type SignedPayment, somePayments } from './support/payments.js'
import { spread } from './support/spread.js'
import { expectAllSettledAndTrue, startWorld, until, type World } from './support/world.js'

const SEND = 'eth_sendRawTransaction'
const GWEI = 10n ** 9n
const [firstRelayer] = devnetRelayers
const relayer = firstRelayer as (typeof devnetRelayers)[number]

let world: World

afterEach(() => world?.close())

describe('a relayer nonce that drifts', () => {
  it('below the chain, because somebody else used the key while Arcus was idle', async () => {
    world = await startWorld()
    await world.client.settleAll(await somePayments(1))
    for (let i = 0; i < 3; i++) await useKeyElsewhere()
    await pause(600)
    await expectAllSettledAndTrue(world, await somePayments(20))
  })

  it('below the chain, because somebody else outbids Arcus under load', async () => {
    world = await startWorld()
    const payments = await somePayments(20)
    const goOn = await world.holdBlocks()
    const settling = spread(world.client, payments, 600)
    await until('something was sent', () => world.proxy.count(SEND) > 0)
    await useKeyElsewhere()
    await goOn()
    await pause(700)
    await useKeyElsewhere()
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
    const settling = spread(world.client, payments, 500)
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
    const settling = spread(world.client, payments, 500)
    await until('something was sent', () => world.proxy.count(SEND) > 2)
    await setBaseFee(200n * GWEI)
    await goOn()
    await settling
    await expectAllSettledAndTrue(world, payments)
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
    await settling
    await expectAllSettledAndTrue(world, [...payments, newcomer])
  })
})

async function latestNonce(): Promise<number> {
  const params = [relayer.address, 'latest']
  return Number(await call<string>(world.chainUrl, 'eth_getTransactionCount', params))
}

/** A transaction of another owner of the key, dear enough to push out one of Arcus. */
async function useKeyElsewhere(): Promise<void> {
  const nonce = await latestNonce()
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
  try {
    await call(world.chainUrl, SEND, [raw])
  } catch (error) {
    // A block was faster.
    if (/nonce too low/.test(String(error))) return useKeyElsewhere()
    throw error
  }
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
