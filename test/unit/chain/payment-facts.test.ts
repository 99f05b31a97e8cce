import { expect, it } from 'vitest'
import { createPaymentFactsReader } from '../../../src/chain/payment-facts.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import { aToken } from '../../support/simulated/a-facilitator.js'

const parties = {
  asset: aToken().address,
  payer: `0x${'a1'.repeat(20)}`,
  payTo: `0x${'b2'.repeat(20)}`,
  nonce: `0x${'c3'.repeat(32)}`,
} as const

/** Returns the answer of the creation code for one payment in this block. */
function factsAt(block: number): string {
  const head = `0000${(1_800_000_000).toString(16).padStart(16, '0')}${block.toString(16).padStart(16, '0')}`
  return `0x${head.padEnd(64, '0')}${'0'.repeat(64)}${'0'.repeat(62)}01`
}

/** A node that knows the chain up to a block, and refuses calls at later ones. */
function aNodeAt(newest: number) {
  const asked: unknown[] = []
  const rpc = {
    async request(_method: string, [, block]: [unknown, string]) {
      asked.push(block)
      if (block === 'latest') return factsAt(newest)
      if (Number(block) > newest) throw new RpcUnavailableError('unknown block')
      return factsAt(Number(block))
    },
  } as unknown as Rpc
  return { rpc, asked }
}

it('accepts facts one block behind the newest block seen', async () => {
  const { rpc, asked } = aNodeAt(9)
  const facts = await createPaymentFactsReader(rpc, [aToken()], () => 10)(parties)
  expect(facts.blockNumber).toBe(9)
  expect(asked).toEqual(['latest'])
})

it('asks a node further behind for a block it does not have, so that another node answers', async () => {
  const { rpc, asked } = aNodeAt(8)
  const read = createPaymentFactsReader(rpc, [aToken()], () => 10)
  await expect(read(parties)).rejects.toThrow(RpcUnavailableError)
  expect(asked).toEqual(expect.arrayContaining(['latest', '0x9']))
})
