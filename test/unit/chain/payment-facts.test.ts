import { describe, expect, it } from 'vitest'
import { wordOf } from '../../../src/chain/abi.js'
import { createPaymentFactsReader } from '../../../src/chain/payment-facts.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import { anRpc } from '../../support/an-rpc.js'
import { aToken } from '../../support/simulated/a-facilitator.js'

const parties = {
  asset: aToken().address,
  payer: `0x${'a1'.repeat(20)}`,
  payTo: `0x${'b2'.repeat(20)}`,
  nonce: `0x${'c3'.repeat(32)}`,
} as const

interface Answered {
  isPaused?: boolean
  /** One for each payment. */
  flags?: number[]
  balance?: bigint
  allowance?: bigint
}

/** Returns the answer of the creation code in this block, of one payment unless said. */
function factsAt(
  block: number,
  { isPaused = false, flags = [1], balance = 0n, allowance = 0n }: Answered = {},
): string {
  const [seconds, number] = [1_800_000_000, block].map((it) => it.toString(16).padStart(16, '0'))
  const head = `00${isPaused ? '01' : '00'}${seconds}${number}`.padEnd(64, '0')
  const members = flags.map(
    (it) => wordOf(balance) + wordOf(allowance).slice(2) + it.toString(16).padStart(2, '0'),
  )
  return `0x${head}${members.join('')}`
}

/** A node that knows the chain up to a block, and refuses calls at later ones. */
function aNodeAt(newest: number, answered: Answered = {}) {
  const asked: unknown[] = []
  const rpc = anRpc({
    async request(_method, [, block]) {
      asked.push(block)
      if (block === 'latest') return factsAt(newest, answered)
      if (Number(block) > newest) throw new RpcUnavailableError('unknown block')
      return factsAt(Number(block), answered)
    },
  })
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

describe('the facts of a payment', () => {
  const plain = {
    blockNumber: 9,
    blockTimestamp: 1_800_000_000,
    payerHasCode: false,
    isNonceUsed: false,
    isPayerBlocklisted: false,
    isPayToBlocklisted: false,
    isPaused: false,
    balance: 0n,
    allowance: 0n,
  }

  it.each([
    [{}, {}],
    [{ isPaused: true }, { isPaused: true }],
    [{ flags: [1 + 2] }, { isNonceUsed: true }],
    [{ flags: [1 + 4] }, { isPayerBlocklisted: true }],
    [{ flags: [1 + 8] }, { isPayToBlocklisted: true }],
    [{ flags: [1 + 16] }, { payerHasCode: true }],
    [{ balance: 2n ** 255n }, { balance: 2n ** 255n }],
    [{ allowance: 2n ** 240n }, { allowance: 2n ** 240n }],
  ])('say of %o that %o', async (answered, said) => {
    const { rpc } = aNodeAt(9, answered)
    const facts = await createPaymentFactsReader(rpc, [aToken()], () => 9)(parties)
    expect(facts).toEqual({ ...plain, ...said })
  })

  it.each([
    ['a token that does not answer', factsAt(9, { flags: [2] }), 'the token did not answer'],
    ['an answer about two payments', factsAt(9, { flags: [1, 1] }), 'in another shape'],
    ['no answer', '0x', 'in another shape'],
    ['something else', { error: 'busy' }, 'in another shape'],
  ])('are not known from %s', async (_, answer, words) => {
    const rpc = anRpc({ request: async () => answer })
    const read = createPaymentFactsReader(rpc, [aToken()], () => 9)
    const error = await read(parties).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(RpcUnavailableError)
    expect(String(error)).toContain(words)
  })

  it('are read for hundreds of payments in calls that a node of Arc takes', async () => {
    const calls: { gas: number; members: number }[] = []
    const rpc = anRpc({
      async request(_method, [call]) {
        const { gas, data } = call as { gas: string; data: string }
        const members = data.split(parties.payer.slice(2)).length - 1
        calls.push({ gas: Number(gas), members })
        return factsAt(9, { flags: Array(members).fill(1) })
      },
    })
    const read = createPaymentFactsReader(rpc, [aToken()], () => 9)
    const facts = await Promise.all(Array.from({ length: 450 }, () => read(parties)))
    expect(facts).toEqual(Array(450).fill(plain))
    expect(calls.reduce((sum, { members }) => sum + members, 0)).toBe(450)
    for (const { gas, members } of calls) {
      expect(gas).toBeLessThanOrEqual(30_000_000)
      // Four calls of a FiatToken behind its proxy take some 60,000.
      expect(gas).toBeGreaterThan(60_000 * members)
    }
    expect(calls.length).toBeLessThan(10)
  })
})
