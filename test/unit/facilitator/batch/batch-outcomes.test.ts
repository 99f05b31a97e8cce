import type { BatchRequest } from '@arcus/protocol/x402/batch-request'
import { expect, it } from 'vitest'
import type { Rpc } from '../../../../src/chain/rpc.js'
import { batchKinds } from '../../../../src/facilitator/batch/jobs.js'
import { createOutcomeAnswers } from '../../../../src/facilitator/batch/outcomes.js'
import type {
  Job,
  SettlementJournal,
} from '../../../../src/facilitator/journal/settlement-journal.js'
import type { Network } from '../../../../src/facilitator/methods/network.js'
import type { Deliveries } from '../../../../src/facilitator/settle/deliveries.js'

it.each([
  ['lags behind', 41],
  ['is past', 43],
])(
  'an answer shows the channel after its deposit, where the feed %s its block',
  async (_, head) => {
    const blocks: unknown[] = []
    const rpc = {
      async batch(calls: { params: [unknown, string] }[]) {
        blocks.push(...new Set(calls.map(({ params: [, at] }) => Number(at))))
        return calls.map((_, i) => ({ ok: true, value: `0x${'0'.repeat(i === 2 ? 64 : 128)}` }))
      },
    } as unknown as Rpc
    const job = {
      id: 'job-1',
      kind: batchKinds.deposit,
      network: 'eip155:5042',
      state: 'confirmed',
      transaction: `0x${'aa'.repeat(32)}`,
      blockNumber: 42,
      gasCost: 1n,
      details: JSON.stringify({ channelId: `0x${'cc'.repeat(32)}`, amount: '7' }),
    } as unknown as Job
    const { answerJob } = createOutcomeAnswers({
      journal: {} as SettlementJournal,
      deliveries: {} as Deliveries,
      checksum: (address) => address,
      log: { warn: (_, message) => expect.unreachable(message) },
    })
    const chain = { rpc, headBlock: () => head } as Network
    const { body } = await answerJob(job, { payload: {} } as BatchRequest, chain)
    expect(body).toMatchObject({ success: true, amount: '7' })
    expect(blocks).toEqual([Math.max(42, head)])
  },
)
