import type { Address, Hex } from 'viem'
import { expect, it } from 'vitest'
import type { Receipt } from '../../../../src/chain/receipts.js'
import {
  NEWCOMERS,
  spentBy,
  WASTED,
  wastedBy,
} from '../../../../src/facilitator/journal/budgets.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { newRow } from '../../../../src/facilitator/journal/sql-journal.js'
import { findGasCharge } from '../../../../src/facilitator/relayer/gas-charge.js'
import type { JobProfile } from '../../../../src/facilitator/relayer/jobs.js'
import { confirmation } from '../../../../src/facilitator/relayer/outcomes.js'
import { anAttempt } from '../../../support/an-attempt.js'
import { aWorld, useVirtualClock } from '../../../support/simulated/a-relayer.js'
import { createPaymentJobs } from './tracked.js'

useVirtualClock()

const hash: Hex = `0x${'aa'.repeat(32)}`
const elsewhere: Hex = `0x${'bb'.repeat(32)}`
/** So that a payment of 100,000 gas costs a tenth of a cent. */
const PRICE = 10n ** 10n
const PER_PAYMENT = 100_000n
const caller = '198.51.100.7'

/** Payments whose transaction was mined, and what the journal says of them by now. */
function aSlot(profiles: Readonly<Record<string, Partial<JobProfile>>> = {}) {
  const world = aWorld()
  const jobs = createPaymentJobs(new Map(Object.entries(profiles)))
  const rows: Job[] = []
  const payers = new Map<string, Address>()

  /** Makes a payment of a dollar; the journal has it as these changes say. */
  function aPayment(id: string, changes: Partial<Job> = {}, value = 1_000_000n): Job {
    const payer = world.anAccount()
    payers.set(id, payer)
    const job = { ...newRow({ ...world.aJob({ payer, value, caller }), id }, 0), ...changes }
    rows.push(job)
    return job
  }

  return {
    jobs,
    aPayment,
    payerOf: (id: string) => payers.get(id) as Address,
    /** Charges a transaction with these members, each of which used as much gas as a payment. */
    async charge(
      members: readonly Job[],
      {
        settled = [],
        unsettled = [],
        coded = [],
        more = 0n,
      }: {
        settled?: Job[]
        unsettled?: Job[]
        /** Accounts that have code by now. */
        coded?: Address[]
        /** Gas that was used besides. */
        more?: bigint
      },
    ) {
      const gasUsed = PER_PAYMENT * BigInt(members.length) + more
      const receipt: Receipt = {
        transactionHash: hash,
        blockNumber: 7,
        isSuccess: true,
        logs: [],
        gasUsed,
        effectiveGasPrice: PRICE,
      }
      const cost = PER_PAYMENT * PRICE
      return findGasCharge(
        {
          jobs,
          gas: { perPayment: () => PER_PAYMENT },
          rpc: world.rpc,
          journal: { findByTransaction: async () => rows },
          readCoded: async () => new Set(coded),
        },
        anAttempt({ hash, jobIds: members.map(({ id }) => id) }),
        receipt,
        {
          settled: settled.map((job) => {
            return { entry: jobs.track(job), outcome: confirmation(receipt, {}, cost), cost }
          }),
          unsettled: unsettled.map((job) => ({ entry: jobs.track(job), burnt: cost })),
        },
      )
    },
  }
}

const COST = PER_PAYMENT * PRICE

it('charges members that were decided before the receipt, and no others that the journal knows', async () => {
  const { aPayment, charge, payerOf } = aSlot()
  const [settled, cancelled, paidElsewhere, noted] = [
    // The journal does not know the outcome yet.
    aPayment('settled', { state: 'submitted', transaction: hash }),
    aPayment('cancelled', { state: 'failed', transaction: hash }),
    // Others brought it on chain.
    aPayment('paid elsewhere', { state: 'confirmed', transaction: elsewhere, gasCost: null }),
    aPayment('noted', { state: 'confirmed', transaction: hash, gasCost: COST }),
  ]
  // It was found in the transaction, and was no member of it.
  aPayment('found', { state: 'failed', transaction: hash })
  const { sums, wasted } = await charge([settled, cancelled, paidElsewhere, noted], {
    settled: [settled],
  })
  expect(wasted).toEqual({ kind: 'plain', amount: 2n * COST })
  expect(sums.get(payerOf('cancelled'))).toBe(COST)
  expect(sums.get(payerOf('paid elsewhere'))).toBe(COST)
  expect(sums.get(wastedBy('plain', caller))).toBe(2n * COST)
  for (const id of ['settled', 'noted', 'found']) expect(sums.has(payerOf(id))).toBe(false)
})

it('charges nobody for a member that another transaction of ours settled, and counts its gas as wasted', async () => {
  const { aPayment, charge, payerOf } = aSlot()
  const settled = aPayment('settled', { state: 'submitted', transaction: hash })
  const twice = aPayment('twice', { state: 'confirmed', transaction: elsewhere, gasCost: 5n })
  const { sums, wasted } = await charge([settled, twice], { settled: [settled] })
  expect(wasted).toEqual({ kind: 'plain', amount: COST })
  expect(sums.get(WASTED.plain)).toBe(COST)
  expect(sums.has(payerOf('twice'))).toBe(false)
  expect(sums.has(wastedBy('plain', caller))).toBe(false)
})

it('charges nothing to a job of the slot that the mined transaction did not carry', async () => {
  const { aPayment, charge, payerOf } = aSlot()
  const settled = aPayment('settled', { state: 'submitted', transaction: hash })
  const left = aPayment('left out', { state: 'submitted', transaction: elsewhere })
  const { sums, wasted } = await charge([settled], { settled: [settled], unsettled: [left] })
  expect(wasted).toBeUndefined()
  expect(sums.has(payerOf('left out'))).toBe(false)
})

it('charges a job that must cover its gas for what it lacks, and nothing where it moves more', async () => {
  const mustCover = { isAlone: true, value: undefined, gas: { least: 1n, most: 200_000n } }
  const { aPayment, charge, payerOf } = aSlot({ much: mustCover, little: mustCover })
  const much = aPayment('much', { state: 'submitted' })
  expect((await charge([much], { settled: [much] })).wasted).toBeUndefined()
  const little = aPayment('little', { state: 'submitted' }, 1n)
  const { sums, wasted } = await charge([little], { settled: [little] })
  expect(wasted).toEqual({ kind: 'plain', amount: COST - 10n ** 12n })
  expect(sums.get(payerOf('little'))).toBe(COST - 10n ** 12n)
})

it('books a settlement for its caller and its recipient, and notes the customer, where it moves its gas', async () => {
  const payTo: Address = `0x${'b2'.repeat(20)}`
  // A dollar, exactly its gas, less than that, and nothing.
  for (const [value, isWorth, isBooked] of [
    [1_000_000n, true, true],
    [COST / 10n ** 12n, true, true],
    [COST / 10n ** 12n - 1n, false, true],
    [0n, false, false],
  ] as const) {
    const { aPayment, charge, payerOf } = aSlot()
    const payment = aPayment('payment', { state: 'submitted' }, value)
    const { sums, customers } = await charge([payment], { settled: [payment] })
    expect(customers).toEqual(isWorth ? [{ payTo, payer: payerOf('payment') }] : [])
    expect(sums.get(spentBy(payTo))).toBe(isWorth ? COST : undefined)
    expect(sums.get(spentBy(caller))).toBe(isBooked ? COST : undefined)
    expect(sums.get(NEWCOMERS)).toBe(isBooked ? COST : undefined)
    // What moves nothing settles nothing.
    expect(sums.get(WASTED.plain)).toBe(isBooked ? undefined : COST)
  }
})

it('charges code that appeared in an account for all that the transaction burnt beyond its payments', async () => {
  const more = 2_000_000n
  const { aPayment, charge, payerOf } = aSlot()
  const settled = aPayment('settled', { state: 'submitted', transaction: hash })
  const trap = aPayment('trap', { state: 'submitted', transaction: hash })
  const asked = { settled: [settled], unsettled: [trap], more }
  const { sums, wasted } = await charge([settled, trap], { ...asked, coded: [payerOf('trap')] })
  const lost = (PER_PAYMENT + more) * PRICE
  expect(wasted).toEqual({ kind: 'plain', amount: lost })
  expect(sums.get(payerOf('trap'))).toBe(lost)
  // Without code in any of them, the one that failed answers for its own share.
  const plain = await charge([settled, trap], asked)
  expect(plain.sums.get(payerOf('trap'))).toBe(COST)
})

it('charges a job that was alone for what it lacks, whatever code there is and whatever gas it took', async () => {
  const mustCover = { isAlone: true, value: undefined, gas: { least: 1n, most: 200_000n } }
  const { aPayment, charge, payerOf } = aSlot({ alone: mustCover })
  const alone = aPayment('alone', { state: 'submitted', transaction: hash }, 1n)
  const coded = [payerOf('alone')]
  const { wasted } = await charge([alone], { settled: [alone], coded, more: 2_000_000n })
  expect(wasted?.amount).toBe(COST - 10n ** 12n)
})
