import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import { numberToHex } from 'viem'
import { expect, it } from 'vitest'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { aFacilitator } from '../../../support/simulated/a-facilitator.js'
import { aWorld, heard, pass, useVirtualClock } from '../../../support/simulated/a-relayer.js'
import {
  aBody,
  aPayment,
  asset,
  nowSeconds,
  payer,
  signPayment,
} from '../../protocol/x402/a-payment.js'

useVirtualClock()

/** A facilitator for one payer, who holds this much. */
async function aService(balance: bigint) {
  const world = aWorld()
  const process = await world.start()
  const { settle, verify } = aFacilitator(world, process)
  let made = 0
  const holds = (amount: bigint) =>
    world.chain.change(({ tokens }) => tokens.set(`${asset}/${payer}`, amount))
  holds(balance)
  return {
    world,
    verify,
    holds,
    openClaims: process.relayer.openClaims,
    async aPayment(): Promise<ParsedPayment> {
      const { authorization } = aPayment()
      const nonce = numberToHex(++made, { size: 32 })
      const validBefore = BigInt(nowSeconds + 3_600)
      const unsigned = aPayment({ authorization: { ...authorization, validBefore, nonce } })
      return { ...unsigned, signature: await signPayment(unsigned) }
    },
    async settle(payment: ParsedPayment) {
      const { body, delivery } = await settle({
        body: aBody(payment),
        idempotencyKey: undefined,
        isConnected: () => true,
      })
      await delivery?.complete()
      return body.success ? 'success' : body.errorReason
    },
    rows: () => world.database.prepare('SELECT state FROM jobs').all() as Pick<Job, 'state'>[],
  }
}

const short = 'invalid_exact_evm_insufficient_balance'

it('takes as many payments at once as the balance of their payer covers together', async () => {
  const service = await aService(20_000n)
  const payments = await Promise.all(Array.from({ length: 30 }, service.aPayment))
  const settling = Promise.all(payments.map(service.settle))
  await pass(3_000)
  const answers = (await heard(settling)) ?? []
  expect(answers.filter((it) => it === 'success')).toHaveLength(2)
  expect(answers.filter((it) => it === short)).toHaveLength(28)
  expect(service.rows()).toEqual([{ state: 'confirmed' }, { state: 'confirmed' }])
})

it('says at verify what settle would say while others wait', async () => {
  const service = await aService(10_000n)
  service.world.chain.isHalted = true
  service.world.store.before = async (method) => {
    // Nothing can be signed.
    if (method === 'recordAttempt') await new Promise(() => {})
  }
  const [first, second] = [await service.aPayment(), await service.aPayment()]
  void service.settle(first)
  await pass(100)
  expect(service.rows()).toEqual([{ state: 'queued' }])
  expect(await service.verify(second)).toMatchObject({
    state: 'rejected',
    rejection: { reason: 'insufficientBalance', message: expect.stringContaining('wait') },
  })
  // The one that waits is not counted against itself.
  expect(await service.verify(first)).toMatchObject({ state: 'known' })
  service.holds(20_000n)
  expect(await service.verify(second)).toMatchObject({ state: 'valid' })
})

it('answers every caller of one payment alike, though it takes the whole balance', async () => {
  const service = await aService(10_000n)
  const payment = await service.aPayment()
  const settling = Promise.all(Array.from({ length: 5 }, () => service.settle(payment)))
  await pass(5_000)
  const answers = await heard(settling)
  expect(answers?.filter((it) => it === 'success')).toHaveLength(1)
  expect(answers).not.toContain(short)
})

it('counts a payment no longer once it is signed', async () => {
  const service = await aService(40_000n)
  const other = { kind: 'exact', key: 'another', asset, payer }
  let sign = () => {}
  const signed = new Promise<void>((resolve) => {
    sign = resolve
  })
  service.world.store.before = async (method) => {
    if (method === 'recordAttempt') await signed
  }
  const settling = service.settle(await service.aPayment())
  await pass(100)
  expect(service.openClaims.besides(other)).toBe(10_000n)
  sign()
  await pass(0)
  expect(service.rows()).toEqual([{ state: 'submitted' }])
  expect(service.openClaims.besides(other)).toBe(0n)
  await pass(2_000)
  expect(await heard(settling)).toBe('success')
  expect(service.openClaims.besides(other)).toBe(0n)
})

it('counts the payments that an earlier process left', async () => {
  const world = aWorld()
  const before = await world.start()
  world.chain.change(({ tokens }) => tokens.set(`${asset}/${payer}`, 10_000n))
  const left = await before.claim({ payer, value: 7_000n })
  expect(left.state).toBe('queued')
  await before.stop()
  world.store.before = async (method) => {
    if (method === 'recordAttempt') await new Promise(() => {})
  }
  const { relayer } = await world.start()
  const other = { kind: 'exact', key: 'another', asset, payer }
  expect(relayer.openClaims.besides(other)).toBe(7_000n)
})
