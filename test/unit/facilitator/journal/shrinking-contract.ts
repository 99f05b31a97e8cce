import type { Address, Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Stores } from '../../../../src/app/stores/stores.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { laneLease } from '../../../../src/sql/leases.js'
import { aJob, anOutcome, type Engine, network, noon } from '../../app/stores/store-contract.js'

const relayer: Address = '0x00000000000000000000000000000000000000f1'
const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`
/** Everything below is decided by then. */
const later = noon + 1_000
const calldata: Hex = `0x${'c'.repeat(712)}`
const rawTransaction: Hex = `0x02f8${'e'.repeat(400)}`

const aPayment = (n: number) => aJob({ id: `payment-${n}`, key: `a/p/${hash(n)}`, calldata })

/** What every engine must do; each has its own file that calls this. */
export function describeShrinking(name: string, open: () => Promise<Engine>): void {
  describe(`old payments on ${name}`, () => {
    let engine: Engine
    let stores: Stores
    let epoch: number
    beforeEach(async () => {
      engine = await open()
      stores = engine.stores
      const lane = laneLease(network, relayer)
      await stores.leases.beat()
      epoch = (await stores.leases.take([lane])).get(lane) as number
    })
    afterEach(() => engine.close())

    /** Makes both tables small; returns how many rows became so. */
    async function shrink(before = later): Promise<number> {
      let small = 0
      for (const table of ['jobs', 'attempts'] as const) {
        let step = await stores.shrinker.step(table, before)
        while (step !== undefined) {
          small += step.small
          step = await stores.shrinker.step(table, before, step.last)
        }
      }
      return small
    }

    const find = ({ kind, network, key }: Pick<Job, 'kind' | 'network' | 'key'>) =>
      stores.journal.findJob(kind, network, key) as Promise<Job>
    const isSmall = async (n: number) => (await find(aPayment(n))).calldata === '0x'

    const anAttempt = (transaction: Hex, relayerNonce: number, numbers: readonly number[]) => ({
      hash: transaction,
      network,
      relayer,
      relayerNonce,
      rawTransaction,
      gasLimit: 200_000n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
      createdAt: noon,
      jobIds: numbers.map((n) => `payment-${n}`),
    })
    const sign = (...terms: Parameters<typeof anAttempt>) =>
      stores.journal.recordAttempt(anAttempt(...terms), epoch)

    const claim = (n: number, at = noon) => stores.journal.claim(aPayment(n), undefined, at)

    const confirm = (numbers: readonly number[], transaction: Hex, relayerNonce = 5, at = noon) =>
      stores.journal.resolve({
        slot: { network, relayer, relayerNonce, epoch },
        outcomes: numbers.map((n, i) => ({
          id: `payment-${n}`,
          round: 0,
          outcome: anOutcome({
            transaction,
            transferLog: 2 * i + 1,
            attestation: '{"signature":"0x1"}',
          }),
        })),
        now: at,
      })

    /** Settles payments in one transaction of ours. */
    async function settle(numbers: readonly number[], transaction: Hex, relayerNonce = 5) {
      for (const n of numbers) {
        await stores.journal.claim(aPayment(n), `an Idempotency-Key of ${n}`, noon, `id of ${n}`)
      }
      await sign(transaction, relayerNonce, numbers)
      await confirm(numbers, transaction, relayerNonce)
    }

    async function deliver(n: number) {
      await stores.deliveries.leaseDelivery(`payment-${n}`, 'token', 1_000)
      await stores.deliveries.completeDelivery(`payment-${n}`, 'token', `key of ${n}`, noon)
    }

    const failure = anOutcome({ state: 'failed', transaction: null, reason: 'validBefore' })
    async function fail(n: number, at = noon) {
      await claim(n, at)
      await stores.journal.resolve({
        outcomes: [{ id: `payment-${n}`, round: 0, outcome: failure }],
        now: at,
      })
    }

    it('lose calldata and signed bytes, and nothing else', async () => {
      await settle([3, 1, 2], hash(0xa))
      await deliver(1)
      const before = await stores.journal.findByTransaction(hash(0xa))
      expect(await shrink()).toBe(4)
      stores = await engine.reopen()
      const after = await stores.journal.findByTransaction(hash(0xa))
      expect(after).toEqual(before.map((job) => ({ ...job, calldata: '0x' })))
      expect(await find(aPayment(1))).toEqual(after[1])
      expect(await stores.journal.findJobById('payment-2')).toEqual(after[2])
      expect(await stores.journal.signedAt(hash(0xa))).toBe(noon)
      expect(await shrink()).toBe(0)
    })

    it('cannot be claimed, delivered or backed by the same transfer again', async () => {
      await settle([1], hash(0xa))
      await deliver(1)
      await shrink()
      expect(await isSmall(1)).toBe(true)
      const again = { ...aPayment(1), id: 'another' }
      expect(await stores.journal.claim(again, undefined, later)).toMatchObject({
        state: 'held',
        job: { id: 'payment-1', transaction: hash(0xa) },
      })
      expect(await stores.deliveries.leaseDelivery('payment-1', 'other', 1_000)).toEqual({
        state: 'delivered',
        key: 'key of 1',
      })
      for (const key of ['an Idempotency-Key of 1', 'id of 1']) {
        expect(await stores.deliveries.findIdempotencyKey(key)).toBe('payment-1')
      }
      const sameTransfer = anOutcome({ transaction: hash(0xa), transferLog: 1 })
      expect(
        await stores.journal.recordFound(aPayment(2), undefined, sameTransfer, later),
      ).toMatchObject({ state: 'failed', reason: 'transferEventMismatch' })
    })

    it('that were never delivered are small, and delivered once', async () => {
      await settle([1], hash(0xa))
      await shrink()
      expect(await isSmall(1)).toBe(true)
      expect(await stores.deliveries.leaseDelivery('payment-1', 'token', 1_000)).toEqual({
        state: 'granted',
      })
    })

    it('stay whole while they are open, young, or in a transaction that may land', async () => {
      await claim(1)
      await claim(2)
      await sign(hash(0xb), 6, [2])
      // Failed, but its transaction may still land.
      await claim(3)
      await sign(hash(0xc), 7, [3])
      await stores.journal.resolve({
        outcomes: [{ id: 'payment-3', round: 0, outcome: failure }],
        now: noon,
      })
      await fail(4, later)
      // Old, and decided only now.
      await claim(5)
      await sign(hash(0xd), 8, [5])
      await confirm([5], hash(0xd), 8, later)
      expect(await shrink()).toBe(1)
      expect(await Promise.all([1, 2, 3, 4, 5].map(isSmall))).toEqual(Array(5).fill(false))
      const open = await stores.journal.openAttempts(network, relayer)
      expect(open.map((attempt) => [attempt.hash, attempt.rawTransaction])).toEqual([
        [hash(0xb), rawTransaction],
        [hash(0xc), rawTransaction],
      ])

      await confirm([2], hash(0xb), 6)
      await confirm([], hash(0xc), 7)
      expect(await shrink()).toBe(4)
      expect(await Promise.all([1, 2, 3, 4, 5].map(isSmall))).toEqual([
        ...[false, true, true, false, false],
      ])
    })

    it('are still found by a transaction that was replaced', async () => {
      await claim(1)
      await sign(hash(0xa), 5, [1])
      await sign(hash(0xb), 5, [1])
      await confirm([1], hash(0xb))
      expect(await shrink()).toBe(3)
      for (const transaction of [hash(0xa), hash(0xb)]) {
        const found = await stores.journal.findByTransaction(transaction)
        expect(found.map(({ id, transaction }) => [id, transaction])).toEqual([
          ['payment-1', hash(0xb)],
        ])
      }
    })

    it('that failed are settled again whole, and become small again', async () => {
      await fail(1)
      expect(await shrink()).toBe(1)
      const failed = await find(aPayment(1))
      expect(failed).toMatchObject({ calldata: '0x', reason: 'validBefore' })
      const { id: _, ...content } = aPayment(1)
      const reopened = await stores.journal.reopen(failed, aPayment(1), noon)
      expect(reopened).toMatchObject({ ...content, id: 'payment-1', round: 1, state: 'queued' })
      expect(await shrink()).toBe(0)
      const outcome = anOutcome({ transaction: hash(0xb), transferLog: 3 })
      await stores.journal.resolve({
        outcomes: [{ id: 'payment-1', round: 1, outcome }],
        now: noon,
      })
      expect(await shrink()).toBe(1)
      expect(await isSmall(1)).toBe(true)
    })

    it('have their bytes again where the very same transaction is signed again', async () => {
      await settle([1], hash(0xa))
      await shrink()
      await claim(2)
      await sign(hash(0xa), 5, [1, 2])
      const [open] = await stores.journal.openAttempts(network, relayer)
      expect(open).toMatchObject({ hash: hash(0xa), rawTransaction })
    })

    it('become small a few rows at a time, in the order of their creation', async () => {
      for (let n = 1; n <= 60; n++) await fail(n, noon + (n % 7))
      const first = await stores.shrinker.step('jobs', later)
      expect(first?.small).toBeLessThanOrEqual(25)
      const whole: number[] = []
      for (let n = 1; n <= 60; n++) if (!(await isSmall(n))) whole.push(n)
      expect(whole).toHaveLength(60 - (first?.small as number))
      const created = (n: number) => noon + (n % 7)
      expect(Math.min(...whole.map(created))).toBeGreaterThanOrEqual(first?.last.createdAt ?? 0)
      // Two at once, as when a keeper is replaced.
      const both = await Promise.all([shrink(), shrink()])
      expect(both[0] + both[1]).toBeGreaterThanOrEqual(whole.length)
      for (let n = 1; n <= 60; n++) expect(await isSmall(n)).toBe(true)
    })
  })
}
