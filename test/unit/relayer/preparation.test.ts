import { expect, it } from 'vitest'
import type { BlockFeed } from '../../../src/chain/block-feed.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { createGasModel } from '../../../src/relayer/gas-model.js'
import { createPreparation } from '../../../src/relayer/preparation.js'
import type { TrackedJob } from '../../../src/relayer/tracked-jobs.js'

const END = 1_000

/** What becomes of a job that ends at `END`, with the wall clock past it. */
async function fateOf(
  transaction: string | null,
  chainSeconds: number,
  mayLand = false,
): Promise<string> {
  let fate = 'kept'
  const becomes = (what: string) => () => {
    fate = what
  }
  const { dropHopeless } = createPreparation({
    rpc: {} as Rpc,
    feed: { latest: () => ({ timestamp: chainSeconds }) } as BlockFeed,
    gas: createGasModel(),
    now: () => (END + 5) * 1_000,
    refuse: async (_entry, { state }) => {
      if (mayLand) return false
      becomes(state)()
      return true
    },
    examine: becomes('examined'),
    look: async () => {},
    resendAlone: becomes('resent'),
    sendLater: becomes('waits'),
  })
  const entry = { job: { expiresAt: END, transaction }, burntGas: 0n } as TrackedJob
  const kept = await dropHopeless([entry])
  expect(kept.length).toBe(fate === 'kept' ? 1 : 0)
  return fate
}

it('fails what expired and was never signed', async () => {
  expect(await fateOf(null, END - 1)).toBe('failed')
})

it('waits for what expired and was signed for all the journal says', async () => {
  expect(await fateOf(null, END - 1, true)).toBe('waits')
  expect(await fateOf(null, END, true)).toBe('examined')
})

it('asks the chain about what expired and was signed: it may have landed', async () => {
  expect(await fateOf('0xab', END)).toBe('examined')
})

it('lets what was signed wait while the clock of the chain is not past its end: it may land yet', async () => {
  expect(await fateOf('0xab', END - 1)).toBe('waits')
})
