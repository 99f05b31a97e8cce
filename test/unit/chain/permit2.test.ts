import { x402ExactPermit2ProxyABI, x402UptoPermit2ProxyABI } from '@x402/evm'
import { type Address, encodeFunctionData, type Hex, keccak256 } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { addressTopic, topics, wordOf } from '../../../src/chain/abi.js'
import {
  createPermit2Uses,
  encodePermit2Settle,
  findPermit2Transfer,
  namePermit2Revert,
  type Permit2Transfer,
  proxyOf,
} from '../../../src/chain/permit2.js'
import type { FoundLog, Log } from '../../../src/chain/receipts.js'
import type { Rpc, RpcCall } from '../../../src/chain/rpc.js'
import { permit2Contracts } from '../../../src/x402/address.js'

const address = (digit: string): Address => `0x${digit.repeat(40)}`
const upto: Permit2Transfer = {
  asset: address('a'),
  payer: address('b'),
  payTo: address('c'),
  value: 700n,
  nonce: `0x${'0d'.repeat(32)}`,
  permitted: 1_000n,
  deadline: 99n,
  validAfter: 5n,
  facilitator: address('e'),
}
const exact: Permit2Transfer = { ...upto, value: 1_000n, facilitator: undefined }
const signature: Hex = `0x${'5a'.repeat(65)}`

describe('the call of a proxy', () => {
  const { asset, payer, payTo, permitted, deadline, validAfter, value } = upto
  const permit = {
    permitted: { token: asset, amount: permitted },
    nonce: BigInt(upto.nonce),
    deadline,
  }
  const tokenPermit = {
    from: payer,
    asset,
    spender: permit2Contracts.permit2,
    amount: permitted,
    nonce: 0n,
    deadline: 88n,
    signature: `0x${'11'.repeat(32)}${'22'.repeat(32)}1c` as Hex,
  }
  const permit2612 = {
    value: permitted,
    deadline: 88n,
    r: `0x${'11'.repeat(32)}` as Hex,
    s: `0x${'22'.repeat(32)}` as Hex,
    v: 28,
  }

  it('is what viem encodes for exact, with and without a permit', () => {
    const args = [permit, payer, { to: payTo, validAfter }, signature] as const
    const abi = x402ExactPermit2ProxyABI
    expect(encodePermit2Settle(exact, signature)).toBe(
      encodeFunctionData({ abi, functionName: 'settle', args }),
    )
    expect(encodePermit2Settle(exact, signature, tokenPermit)).toBe(
      encodeFunctionData({ abi, functionName: 'settleWithPermit', args: [permit2612, ...args] }),
    )
  })

  it('is what viem encodes for upto, with and without a permit', () => {
    const facilitator = upto.facilitator as Address
    const witness = { to: payTo, facilitator, validAfter }
    const args = [permit, value, payer, witness, signature] as const
    const abi = x402UptoPermit2ProxyABI
    expect(encodePermit2Settle(upto, signature)).toBe(
      encodeFunctionData({ abi, functionName: 'settle', args }),
    )
    expect(encodePermit2Settle(upto, signature, tokenPermit)).toBe(
      encodeFunctionData({ abi, functionName: 'settleWithPermit', args: [permit2612, ...args] }),
    )
  })
})

describe('the transfer of a payment', () => {
  const transfer = (index: number, changes: Partial<Permit2Transfer> = {}): Log => {
    const { asset, payer, payTo, value } = { ...upto, ...changes }
    const named = [topics.transfer, addressTopic(payer), addressTopic(payTo)]
    return { address: asset, index, topics: named, data: `0x${wordOf(value)}` }
  }
  const settled = (index: number, from = proxyOf(upto), topic: Hex = topics.settled): Log => {
    return { address: from, index, topics: [topic], data: '0x' }
  }
  const calldata = encodePermit2Settle(upto, signature)
  const called = (index: number, call: Hex, from = upto.facilitator as Address): Log => {
    return { address: from, index, topics: [topics.called, keccak256(call)], data: '0x' }
  }
  const found = (...logs: Log[]) => findPermit2Transfer(logs, upto, calldata)

  it('is the one that the event of the proxy follows directly', () => {
    expect(found(transfer(3), settled(4))).toBe(3)
    expect(found(transfer(3), settled(4, undefined, topics.settledWithPermit))).toBe(3)
    expect(found(settled(4), transfer(3))).toBe(3)
  })

  it('is the one at its place among twins, or the last there is', () => {
    const twins = [transfer(1), settled(2), transfer(5), settled(6)]
    const places = [0, 1, 2].map((place) => findPermit2Transfer(twins, upto, calldata, place))
    expect(places).toEqual([1, 5, 5])
  })

  it('is the one before the hash of its call, where a multicall of the relayers made it', () => {
    const [own, other] = [calldata, `${calldata}00` as Hex]
    const twins = (first: Hex, second: Hex) =>
      found(
        ...[transfer(1), settled(2), called(3, first)],
        ...[transfer(4), settled(5), called(6, second)],
      )
    expect(twins(own, other)).toBe(1)
    expect(twins(other, own)).toBe(4)
    expect(twins(other, other)).toBeUndefined()
    expect(found(transfer(1), settled(2), called(3, other))).toBeUndefined()
    // Anybody may log the same from elsewhere.
    const stranger = address('5')
    expect(
      found(
        ...[transfer(1), settled(2), called(3, own, stranger), called(4, other)],
        ...[transfer(5), settled(6), called(7, own)],
      ),
    ).toBe(5)
  })

  it('is none without the event, before it is due, or with another transfer in between', () => {
    expect(found(transfer(3))).toBeUndefined()
    expect(found(settled(2), transfer(3))).toBeUndefined()
    expect(found(transfer(3), transfer(4, { value: 1n }), settled(5))).toBeUndefined()
  })

  it('is none of another proxy, token, payer, recipient or amount', () => {
    const { exactProxy } = permit2Contracts
    expect(found(transfer(3), settled(4, exactProxy))).toBeUndefined()
    for (const changes of [
      { asset: address('1') },
      { payer: address('1') },
      { payTo: address('1') },
      { value: 701n },
    ]) {
      expect(found(transfer(3, changes), settled(4))).toBeUndefined()
    }
  })
})

describe('the search for the use of a nonce', () => {
  const HEAD = 20_000
  const nonce = BigInt(exact.nonce)
  const settledIn: Hex = `0x${'aa'.repeat(32)}`
  const cancelledIn: Hex = `0x${'bb'.repeat(32)}`
  let logs: FoundLog[]
  let queries: number
  beforeEach(() => {
    logs = []
    queries = 0
  })

  const transferIn = (block: number): FoundLog => ({
    transactionHash: settledIn,
    blockNumber: `0x${block.toString(16)}`,
    topics: [topics.transfer, addressTopic(exact.payer), addressTopic(exact.payTo)],
    data: `0x${wordOf(exact.value)}`,
  })
  const cancelIn = (block: number, word = nonce >> 8n, mask = 1n << (nonce & 255n)): FoundLog => ({
    transactionHash: cancelledIn,
    blockNumber: `0x${block.toString(16)}`,
    topics: [topics.nonceInvalidation, addressTopic(exact.payer)],
    data: `0x${wordOf(word)}${wordOf(mask)}`,
  })
  const receipt = {
    transactionHash: settledIn,
    blockNumber: '0x1',
    status: '0x1',
    logs: [
      { ...transferIn(1), address: exact.asset, logIndex: '0x3' },
      { address: proxyOf(exact), topics: [topics.settled], data: '0x', logIndex: '0x4' },
    ],
  }
  const rpc = {
    async request(method: string, [filter]: [{ fromBlock: Hex; toBlock: Hex }]) {
      if (method === 'eth_getBlockByNumber') return { number: filter, timestamp: '0x7' }
      queries++
      const isIn = ({ blockNumber }: FoundLog) =>
        Number(blockNumber) >= Number(filter.fromBlock) &&
        Number(blockNumber) <= Number(filter.toBlock)
      return logs.filter(isIn)
    },
    batch: async (calls: RpcCall[]) =>
      calls.map(({ params }) => ({
        ok: true,
        value: {
          from: exact.payer,
          input: params[0] === settledIn ? encodePermit2Settle(exact, signature) : '0x',
        },
      })),
    everywhere: async () => [{ ok: true, value: receipt }],
  } as unknown as Rpc
  const find = () => createPermit2Uses(rpc, () => 0)(exact, 1_000, HEAD)

  it('asks for settlements and cancellations in one query', async () => {
    logs = [cancelIn(19_990)]
    const use = await createPermit2Uses(rpc)(exact, HEAD - 100, HEAD)
    expect(use).toEqual({ state: 'cancelled', transaction: cancelledIn })
    expect(queries).toBe(1)
  })

  it.each([
    ['of another bit', cancelIn(19_990, nonce >> 8n, ~(1n << (nonce & 255n)) & (2n ** 256n - 1n))],
    ['of another word', cancelIn(19_990, (nonce >> 8n) + 1n)],
  ])('takes no cancellation %s for that of the nonce', async (_, log) => {
    logs = [log]
    expect((await find()).state).toBe('notFound')
  })

  it('takes a settlement before a cancellation that came after it, in the same range or another', async () => {
    for (const settled of [19_989, 1_500]) {
      logs = [transferIn(settled), cancelIn(19_990)]
      expect(await find()).toMatchObject({ state: 'paid', transferLog: 3 })
    }
  })

  it('tells a cancellation once every older block was searched', async () => {
    logs = [cancelIn(19_990)]
    expect(await find()).toMatchObject({ state: 'cancelled', transaction: cancelledIn })
    expect(queries).toBe(4)
  })

  it('takes no transaction without the call for the settlement, whatever it moved', async () => {
    logs = [{ ...transferIn(19_989), transactionHash: cancelledIn }]
    expect((await find()).state).toBe('notFound')
  })
})

it('a revert of Permit2 is named, any other text stays as it is', () => {
  expect(namePermit2Revert('custom error 0x756688fe')).toBe('InvalidNonce')
  expect(namePermit2Revert('custom error 0x00000000')).toBe('custom error 0x00000000')
  expect(namePermit2Revert('TRANSFER_FROM_FAILED')).toBe('TRANSFER_FROM_FAILED')
})
