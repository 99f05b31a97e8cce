import { encodeAbiParameters, parseAbiParameters, toHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { multicall3Address } from '../../../src/chain/abi.js'
import type { BlockFeed } from '../../../src/chain/blocks.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import type { Cause } from '../../../src/facilitator/relayer/examiner.js'
import { createGasModel, type GasBudgets } from '../../../src/facilitator/relayer/gas.js'
import type { TrackedJob } from '../../../src/facilitator/relayer/jobs.js'
import { createPreparation } from '../../../src/facilitator/relayer/preparation.js'
import { createJobQueue } from '../../../src/facilitator/relayer/queue.js'

const END = 1_000

/** Returns what becomes of a job that ends at `END`, with the wall clock past it. */
async function resultOf(
  transaction: string | null,
  chainSeconds: number,
  mayLand = false,
  changes: Partial<TrackedJob> = {},
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
    queue: { ...createJobQueue(), putBackAlone: becomes('resent'), putBack: becomes('waits') },
  })
  const entry = { job: { expiresAt: END, transaction }, burntGas: 0n, ...changes } as TrackedJob
  const kept = await dropHopeless([entry])
  expect(kept.length).toBe(result === 'kept' ? 1 : 0)
  return result
}

it('refuses a job that nobody waits for any more, unless a transaction of it may land', async () => {
  const withdrawnAs = { state: 'failed' } as NonNullable<TrackedJob['withdrawnAs']>
  expect(await resultOf(null, END - 1, false, { withdrawnAs })).toBe('failed')
  expect(await resultOf(null, END - 1, true, { withdrawnAs })).toBe('kept')
})

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

describe('a transaction that is prepared', () => {
  const results = parseAbiParameters('(bool success, bytes returnData)[]')

  /** Members whose simulation passes with so much gas; `coded` are those that turn out to have code. */
  async function prepareOf(
    ids: string[],
    { coded = [] as string[], gas = 100_000n, gain = undefined as bigint | undefined } = {},
  ) {
    const resent: string[] = []
    const examined: [string, Cause][] = []
    const { prepare } = createPreparation({
      rpc: {
        async request(method: string) {
          if (method === 'eth_estimateGas') return toHex(gas)
          return encodeAbiParameters(results, [
            ids.map(() => ({ success: true, returnData: '0x' as const })),
          ])
        },
      } as unknown as Rpc,
      feed: {
        latest: () => ({ timestamp: 0, baseFeePerGas: 20n * 10n ** 9n }),
      } as unknown as BlockFeed,
      gas: createGasModel(),
      now: () => 0,
      keeper: { refuse: async () => true },
      examiner: {
        async examine(entry, cause) {
          examined.push([entry.job.id, cause])
        },
      },
      budgets: {
        async readCodes(entries: readonly TrackedJob[]) {
          for (const entry of entries) if (coded.includes(entry.job.id)) entry.coded = ['0xa1']
        },
      } as Partial<GasBudgets> as GasBudgets,
      queue: { ...createJobQueue(), putBackAlone: (entry) => void resent.push(entry.job.id) },
    })
    const members = ids.map(
      (id) =>
        ({
          job: {
            id,
            to: `0x${'36'.repeat(20)}`,
            calldata: '0x12',
            expiresAt: END,
            transaction: null,
          },
          kind: gain === undefined ? {} : { gain: async () => gain },
          coded: [],
          isAlone: false,
          payTo: 'r',
        }) as unknown as TrackedJob,
    )
    return { prepared: await prepare('0xf1', members), resent, examined }
  }

  it('carries all members that pass, in one call of Multicall3', async () => {
    const { prepared, resent } = await prepareOf(['a', 'b'])
    expect(prepared?.members.map(({ job }) => job.id)).toEqual(['a', 'b'])
    expect(prepared?.to).toBe(multicall3Address)
    expect(resent).toEqual([])
  })

  it('is not shared by an account that has code by now: it travels alone', async () => {
    const { prepared, resent } = await prepareOf(['a', 'b', 'c'], { coded: ['b'] })
    expect(prepared?.members.map(({ job }) => job.id)).toEqual(['a', 'c'])
    expect(resent).toEqual(['b'])
  })

  it('of one payment never gets more gas than a payment may take', async () => {
    expect((await prepareOf(['a'])).prepared?.gasLimit).toBe(140_000n)
    expect((await prepareOf(['a'], { gas: 990_000n })).prepared?.gasLimit).toBe(1_000_000n)
  })

  it('that must cover its gas is not sent while it moves less', async () => {
    // 100,000 gas cost a little more than 0.002 dollars here.
    const little = await prepareOf(['a'], { gain: 2_000n })
    expect(little.prepared).toBeUndefined()
    expect(little.examined).toMatchObject([['a', { refusal: { reason: 'amountBelowMinimum' } }]])
    expect((await prepareOf(['a'], { gain: 2_001n })).prepared).toBeDefined()
  })
})
