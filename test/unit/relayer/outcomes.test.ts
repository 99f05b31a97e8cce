import { describe, expect, it } from 'vitest'
import type { Receipt } from '../../../src/chain/receipts.js'
import type { SettlementJournal } from '../../../src/facilitator/journal/settlement-journal.js'
import type { TrackedJob, TrackedJobs } from '../../../src/facilitator/relayer/jobs.js'
import {
  createOutcomeKeeper,
  failure,
  noRelayerEvents,
  readSlotResult,
} from '../../../src/facilitator/relayer/outcomes.js'

const receipt: Receipt = {
  transactionHash: `0x${'aa'.repeat(32)}`,
  blockNumber: 42,
  isSuccess: true,
  gasUsed: 5n,
  effectiveGasPrice: 2n,
  logs: [],
}

/** A job whose transfer is the log with this index; without one no log bears it out. */
function anEntry(id: string, transferLog?: number, burntGas = 0n): TrackedJob {
  const findSettled = () => (transferLog === undefined ? undefined : { transferLog })
  return { job: { id }, kind: { findSettled }, burntGas } as unknown as TrackedJob
}

describe('the receipt of a shared transaction', () => {
  it('settles the members whose transfer it shows, and no others', () => {
    const [paid, unpaid] = [anEntry('a', 7), anEntry('b')]
    const { settled, unsettled } = readSlotResult([paid, unpaid], ['a', 'b'], receipt)
    expect(settled).toMatchObject([
      {
        entry: paid,
        cost: 5n,
        outcome: {
          state: 'confirmed',
          transaction: receipt.transactionHash,
          blockNumber: 42,
          transferLog: 7,
        },
      },
    ])
    expect(unsettled).toEqual([{ entry: unpaid, burnt: 5n }])
  })

  it('settles nobody when the transaction failed, whatever its logs show', () => {
    const entry = anEntry('a', 7)
    const { settled, unsettled } = readSlotResult([entry], ['a'], { ...receipt, isSuccess: false })
    expect(settled).toEqual([])
    expect(unsettled).toEqual([{ entry, burnt: 10n }])
  })

  it('settles nobody who is not a member of this transaction, at no cost', () => {
    const entry = anEntry('a', 7)
    const { settled, unsettled } = readSlotResult([entry], ['b'], receipt)
    expect(settled).toEqual([])
    expect(unsettled).toEqual([{ entry, burnt: 0n }])
  })

  it('is paid by its members to the last unit', () => {
    const entries = ['a', 'b', 'c'].map((id, i) => anEntry(id, i))
    const { settled } = readSlotResult(entries, ['a', 'b', 'c'], receipt)
    expect(settled.map(({ cost }) => cost)).toEqual([4n, 3n, 3n])
  })

  it('costs a member also what earlier transactions burnt for it', () => {
    const { settled } = readSlotResult([anEntry('a', 7, 90n)], ['a'], receipt)
    expect(settled).toMatchObject([{ cost: 10n, outcome: { gasCost: 100n } }])
  })
})

describe('the keeper of outcomes', () => {
  const nonce = `0x${'12'.repeat(32)}`

  it('names payer and nonce of a payment that failed', async () => {
    const lines: object[] = []
    const keeper = createOutcomeKeeper({
      network: 'eip155:5042',
      journal: {
        resolve: async ({ outcomes }: { outcomes: unknown }) => outcomes,
      } as unknown as SettlementJournal,
      jobs: { update() {}, abandon() {} } as unknown as TrackedJobs,
      events: noRelayerEvents,
      now: Date.now,
      log: { info: (line) => void lines.push(line), warn() {} },
    })
    const entry = { job: { id: 'a', round: 0 }, payer: '0x34', nonce, burntGas: 9n }
    const failed = failure('insufficientBalance', 'It was spent elsewhere.')
    await keeper.decide(entry as unknown as TrackedJob, failed)
    expect(lines).toMatchObject([{ settlementId: 'a', state: 'failed', payer: '0x34', nonce }])
  })
})
