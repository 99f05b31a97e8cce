import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { TokenPermit } from '@arcus/protocol/x402/payment'
import { x402ExactPermit2ProxyABI, x402UptoPermit2ProxyABI } from '@x402/evm'
import { type Address, encodeFunctionData, type Hex, keccak256 } from 'viem'
import { describe, expect, it } from 'vitest'
import { addressTopic, topics, wordOf } from '../../../src/chain/abi.js'
import {
  encodePermit2Settle,
  findSettlement,
  namePermit2Revert,
  type Permit2Transfer,
  proxyOf,
  relationOf,
} from '../../../src/chain/permit2.js'
import type { Log } from '../../../src/chain/receipts.js'

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

describe('a call of the proxy', () => {
  const tokenPermit = {
    amount: 1n,
    deadline: 88n,
    signature: `0x${'11'.repeat(65)}`,
  } as TokenPermit

  it.each([exact, upto])('settles the payment whose arguments it has, by any signature', (own) => {
    const forms = [
      encodePermit2Settle(own, signature),
      encodePermit2Settle(own, '0x'),
      encodePermit2Settle(own, signature, tokenPermit),
    ]
    expect(forms.map((data) => relationOf(data, own))).toEqual(['settles', 'settles', 'settles'])
  })

  it.each<keyof Permit2Transfer>(['asset', 'payTo', 'permitted', 'deadline', 'validAfter'])(
    'with another %s uses the nonce for something else',
    (member) => {
      const other = typeof exact[member] === 'bigint' ? 1n : address('7')
      for (const own of [exact, upto]) {
        const data = encodePermit2Settle({ ...own, [member]: other }, signature)
        expect(relationOf(data, own)).toBe('usesNonce')
        const withPermit = encodePermit2Settle({ ...own, [member]: other }, signature, tokenPermit)
        expect(relationOf(withPermit, own)).toBe('usesNonce')
      }
    },
  )

  it('for another amount of upto uses the nonce for something else', () => {
    const data = encodePermit2Settle({ ...upto, value: 699n }, signature)
    expect(relationOf(data, upto)).toBe('usesNonce')
  })

  it('of another nonce, payer or scheme is another one, whatever stands in its signature', () => {
    const words = encodePermit2Settle(exact, signature)
    const smuggled = `${signature}${words.slice(10)}` as Hex
    const nonce: Hex = `0x${'0e'.repeat(32)}`
    for (const changes of [{ nonce }, { payer: address('7') }]) {
      expect(relationOf(encodePermit2Settle({ ...exact, ...changes }, smuggled), exact)).toBe(
        'other',
      )
    }
    expect(relationOf(encodePermit2Settle(upto, signature), exact)).toBe('other')
    expect(relationOf(words, upto)).toBe('other')
    expect(relationOf(`0x12345678${words.slice(2)}`, exact)).toBe('other')
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
  const found = (...logs: Log[]) => findSettlement(logs, upto, calldata)?.transferLog

  it('is the one that the event of the proxy follows directly', () => {
    expect(found(transfer(3), settled(4))).toBe(3)
    expect(found(transfer(3), settled(4, undefined, topics.settledWithPermit))).toBe(3)
    expect(found(settled(4), transfer(3))).toBe(3)
  })

  it('is none of several settlements, unless their calls were logged', () => {
    expect(found(transfer(1), settled(2), transfer(5), settled(6))).toBeUndefined()
    expect(found(transfer(1), settled(2), settled(6))).toBeUndefined()
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

  it('is not concerned by what a relayers’ multicall else logs, nor by what strangers log as it does', () => {
    const note = (index: number): Log => ({ ...called(index, calldata), topics: [topics.transfer] })
    expect(found(transfer(3), note(4), settled(5))).toBe(3)
    expect(found(transfer(3), settled(4), note(5))).toBe(3)
    expect(found(transfer(3), settled(4), called(5, calldata, address('5')))).toBe(3)
  })

  it('is none without the event, before it is due, or with another transfer in between', () => {
    expect(found(transfer(3))).toBeUndefined()
    expect(found(settled(2), transfer(3))).toBeUndefined()
    expect(found(transfer(3), transfer(4, { value: 1n }), settled(5))).toBeUndefined()
  })

  it('is missing from the settlement of a token that takes a fee', () => {
    const logs = [transfer(3, { value: 693n }), settled(4)]
    expect(findSettlement(logs, upto, calldata)).toMatchObject({ transferLog: undefined })
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

it('a revert of Permit2 is named, any other text stays as it is', () => {
  expect(namePermit2Revert('custom error 0x756688fe')).toBe('InvalidNonce')
  expect(namePermit2Revert('custom error 0x00000000')).toBe('custom error 0x00000000')
  expect(namePermit2Revert('TRANSFER_FROM_FAILED')).toBe('TRANSFER_FROM_FAILED')
})
