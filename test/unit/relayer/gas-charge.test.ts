import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '../../../src/chain/receipts.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import type { Attempt, Job } from '../../../src/facilitator/journal/settlement-journal.js'
import { createGasModel } from '../../../src/facilitator/relayer/gas.js'
import { findGasCharge } from '../../../src/facilitator/relayer/gas-charge.js'
import {
  createTrackedJobs,
  type JobKind,
  type TrackedJob,
} from '../../../src/facilitator/relayer/jobs.js'
import type { SlotResult } from '../../../src/facilitator/relayer/outcomes.js'

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
    codedBefore = [] as string[],
    codedAfter = [] as string[],
    result = { settled: [], unsettled: [] } as SlotResult,
    jobIds = payers,
    rows = {} as Record<string, Partial<Job>>,
    isOfCode = false,
  } = {},
) {
  const profile = ({ id }: Job) => ({
    isAlone: false,
    payer: id,
    payTo: 'r',
    accountsThatRun: [id],
    value: 1n,
  })
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
          (id) =>
            ({
              ...{ id, kind: 'exact', state: 'submitted', transaction: hash },
              ...rows[id],
            }) as unknown as Job,
        ),
    },
    jobs: createTrackedJobs({ exact: { profile } as unknown as JobKind }, () => 0),
    gas: createGasModel(),
  }
  if (isOfCode) {
    const job = { id: payers[0], kind: 'exact', round: 0, transaction: null } as unknown as Job
    options.jobs.track(job).coded = payers
  }
  const attempt = { hash, jobIds } as unknown as Attempt
  return findGasCharge(options, attempt, receipt(isSuccess), result)
}

const unsettled = (payer: string, burnt: bigint) => ({
  entry: { job: { id: payer }, payer, isAlone: false, coded: [] } as unknown as TrackedJob,
  burnt,
})

const byPlain = (amount: bigint) => ({ kind: 'plain', amount })

describe('a transaction that died as a whole', () => {
  it('is charged in full to each account with code, and not to those who shared it', async () => {
    const losses = await lossesOf([plain, wallet, other], { codedAfter: [wallet, other] })
    expect(losses).toEqual({
      total: COST,
      // They were let in as plain accounts.
      wasted: byPlain(COST),
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

  it('is charged to the payer where a payment travelled alone, with code or without', async () => {
    for (const isOfCode of [false, true]) {
      const losses = await lossesOf([plain], { isOfCode })
      const wasted = { kind: isOfCode ? 'coded' : 'plain', amount: COST }
      expect(losses).toEqual({ total: COST, wasted, burnt: [{ payer: plain, amount: COST }] })
    }
  })

  it('is charged to nobody where another transaction of ours settled the payment', async () => {
    const rows = { [plain]: { state: 'confirmed', transaction: '0xbb', gasCost: 1n } } as const
    expect(await lossesOf([plain], { rows })).toMatchObject({ burnt: [] })
  })

  it('that carried nothing costs nobody a budget', async () => {
    expect(await lossesOf([], {})).toEqual({ total: COST, burnt: [] })
  })
})

describe('a transaction that went through', () => {
  const isSuccess = true

  it('is wasted as far as it settled nobody, and charged to each payer whose payment failed', async () => {
    const failed = [unsettled(plain, 5n), unsettled(other, 5n)]
    const result = { settled: [], unsettled: failed }
    const losses = await lossesOf([plain, other], { isSuccess, result })
    expect(losses).toMatchObject({
      total: COST,
      wasted: byPlain(COST),
      burnt: failed.map(({ entry, burnt }) => ({ payer: entry.payer, amount: burnt })),
    })
  })

  it.each(['failed', 'confirmed'] as const)(
    'is charged to the payer as well where the payment was %s before by others',
    async (state) => {
      const rows = { [other]: { state, transaction: '0xbb', gasCost: null } } as const
      const result = { settled: [], unsettled: [unsettled(plain, 5n)] }
      const losses = await lossesOf([plain, other], { isSuccess, result, rows })
      expect(losses).toMatchObject({
        wasted: byPlain(COST),
        burnt: [
          { payer: plain, amount: 5n },
          { payer: other, amount: 5n },
        ],
      })
    },
  )

  it('is charged in full to an account whose code took more than its share', async () => {
    const result = { settled: [], unsettled: [unsettled(plain, 5n), unsettled(wallet, 5n)] }
    const losses = await lossesOf([plain, wallet], { isSuccess, result, codedAfter: [wallet] })
    expect(losses).toMatchObject({
      wasted: byPlain(COST),
      burnt: [{ payer: wallet, amount: COST }],
    })
  })
})
