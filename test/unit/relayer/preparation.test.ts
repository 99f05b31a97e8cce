import { expect, it } from 'vitest'
import type { BlockFeed } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { createGasModel, type GasBudgets } from '../../../src/relayer/gas.js'
import type { TrackedJob } from '../../../src/relayer/jobs.js'
import { createPreparation } from '../../../src/relayer/preparation.js'
import { createJobQueue } from '../../../src/relayer/queue.js'

const END = 1_000

/** Returns what becomes of a job that ends at `END`, with the wall clock past it. */
async function resultOf(
  transaction: string | null,
  chainSeconds: number,
  mayLand = false,
): Promise<string> {
  let result = 'kept'
  const becomes = (what: string) => () => {
    result = what
  }
  const { dropHopeless } = createPreparation({
    rpc: {} as Rpc,
    feed: { latest: () => ({ timestamp: chainSeconds }) } as BlockFeed,
    gas: createGasModel(),
    now: () => (END + 5) * 1_000,
    keeper: {
      refuse: async (_entry, { state }) => {
        if (mayLand) return false
        becomes(state)()
        return true
      },
    },
    examiner: { examine: async () => becomes('examined')() },
    budgets: {} as GasBudgets,
    queue: { ...createJobQueue(), addAlone: becomes('resent'), addLater: becomes('waits') },
  })
  const entry = { job: { expiresAt: END, transaction }, burntGas: 0n } as TrackedJob
  const kept = await dropHopeless([entry])
  expect(kept.length).toBe(result === 'kept' ? 1 : 0)
  return result
}

it('fails a job that expired and was never signed', async () => {
  expect(await resultOf(null, END - 1)).toBe('failed')
})

it('keeps a job that expired when the journal says that a transaction of it may land', async () => {
  expect(await resultOf(null, END - 1, true)).toBe('waits')
  expect(await resultOf(null, END, true)).toBe('examined')
})

it('examines a job that expired and was signed: it may have landed', async () => {
  expect(await resultOf('0xab', END)).toBe('examined')
})

it('keeps a signed job while the clock of the chain is not past its end: it may still land', async () => {
  expect(await resultOf('0xab', END - 1)).toBe('waits')
})
