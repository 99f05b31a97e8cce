import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '../../../src/chain/receipts.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { createTrackedJobs, type JobKind, type TrackedJob } from '../../../src/relayer/jobs.js'
import { findSpending, type SlotResult } from '../../../src/relayer/outcomes.js'
import type { Attempt, Job } from '../../../src/store/settlement-journal.js'

const hash = `0x${'aa'.repeat(32)}` as const
const [plain, wallet, other] = ['a1', 'b2', 'c3'].map((it) => `0x${it.repeat(20)}`) as [
  string,
  string,
  string,
]
const COST = 10n

const receipt = (isSuccess: boolean): Receipt => ({
  transactionHash: hash,
  blockNumber: 42,
  isSuccess,
  gasUsed: 5n,
  effectiveGasPrice: 2n,
  logs: [],
})

/** What is booked for a transaction with payments of these accounts. */
async function lossesOf(
  payers: readonly string[],
  {
    isSuccess = false,
    isAlone = false,
    codedBefore = [] as string[],
    codedAfter = [] as string[],
    result = { settled: [], unsettled: [] } as SlotResult,
    jobIds = payers,
  } = {},
) {
  const profile = ({ id }: Job) => ({ isAlone, payer: id, payTo: 'r', runners: [id], value: 1n })
  const options = {
    rpc: {
      batch: async (calls: { params: unknown[] }[]) =>
        calls.map(() => ({ ok: true, value: '0x0' })),
    } as unknown as Rpc,
    readCoded: async (accounts: readonly Address[], at?: number | 'latest') => {
      const coded = at === 41 ? codedBefore : codedAfter
      return new Set(accounts.filter((account) => coded.includes(account)))
    },
    journal: {
      findByTransaction: async () =>
        payers.map(
          (id) => ({ id, kind: 'exact', state: 'submitted', transaction: hash }) as unknown as Job,
        ),
    },
    jobs: createTrackedJobs({ exact: { profile } as unknown as JobKind }, () => 0),
  }
  const attempt = { hash, jobIds } as unknown as Attempt
  return findSpending(options, attempt, receipt(isSuccess), result)
}

const unsettled = (payer: string, burnt: bigint, changes: Partial<TrackedJob> = {}) => ({
  entry: {
    job: { id: payer },
    payer,
    isAlone: true,
    coded: [],
    ...changes,
  } as unknown as TrackedJob,
  burnt,
})

describe('a transaction that died as a whole', () => {
  it('is charged in full to each account with code, and not to those who shared it', async () => {
    const losses = await lossesOf([plain, wallet, other], { codedAfter: [wallet, other] })
    expect(losses).toEqual({
      total: COST,
      wasted: COST,
      burnt: [
        { payer: wallet, amount: COST },
        { payer: other, amount: COST },
      ],
    })
  })

  it('is charged to an account whose code was gone by the end of the block', async () => {
    const { burnt } = await lossesOf([plain, wallet], { codedBefore: [wallet] })
    expect(burnt).toEqual([{ payer: wallet, amount: COST }])
  })

  it('is charged to the payer where a payment travelled alone', async () => {
    const losses = await lossesOf([plain], { isAlone: true })
    expect(losses).toMatchObject({ wasted: COST, burnt: [{ payer: plain, amount: COST }] })
    expect(losses.reserved).toEqual({ hash, amount: COST })
  })

  it('that carried nothing costs nobody a budget', async () => {
    expect(await lossesOf([], {})).toEqual({ total: COST, burnt: [] })
  })
})

describe('a transaction that went through', () => {
  it('is wasted as far as it settled nobody, and charged to a plain payer who went alone', async () => {
    const result = { settled: [], unsettled: [unsettled(plain, COST)] }
    const losses = await lossesOf([plain], { isSuccess: true, result })
    expect(losses).toMatchObject({
      total: COST,
      wasted: COST,
      burnt: [{ payer: plain, amount: COST }],
    })
  })

  it('charges nobody for a member that failed among others: its payment must fail first', async () => {
    const result = { settled: [], unsettled: [unsettled(plain, 5n, { isAlone: false })] }
    const losses = await lossesOf([plain, other], { isSuccess: true, result })
    expect(losses).toMatchObject({ wasted: 5n, burnt: [] })
  })
})
