import { expect, it } from 'vitest'
import type { LaneCore } from '../../../src/relayer/lane-core.js'
import { createSigning } from '../../../src/relayer/signing.js'
import { LeaseLostError } from '../../../src/store/leases.js'
import type { Attempt } from '../../../src/store/settlement-journal.js'

it('tells of a transaction that was kept although the wallet went elsewhere meanwhile', async () => {
  const signed: string[] = []
  const core = {
    signer: { address: '0x01', sign: async () => '0xab' },
    keccak256: () => new Uint8Array(32),
    now: () => 0,
    epoch: 1 as number | undefined,
    journal: {
      recordAttempt: async () => {
        core.epoch = undefined
      },
    },
    gate: { bearersOf: () => [] },
    onSigned: ({ jobIds }: Attempt) => signed.push(...jobIds),
  }
  const sign = createSigning(core as unknown as LaneCore, () => 1)
  const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const signing = sign(0, { to: '0x02', data: '0x', gasLimit: 21_000n }, fees, ['a'])
  await expect(signing).rejects.toBeInstanceOf(LeaseLostError)
  expect(signed).toEqual(['a'])
})
