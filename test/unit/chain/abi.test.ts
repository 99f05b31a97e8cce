import {
  type Address,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  multicall3Abi,
  parseAbi,
  toEventSelector,
  toFunctionSelector,
} from 'viem'
import { describe, expect, it } from 'vitest'
import {
  addressOf,
  addressWord,
  bytesWords,
  decodeAggregate3,
  encodeAggregate3,
  encodeIsValidSignature,
  encodeTransferWithAuthorization,
  selectors,
  topics,
  toQuantity,
  wordOf,
} from '../../../src/chain/abi.js'
import { aPayment } from '../protocol/x402/a-payment.js'

const abi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)',
])

const signatures: Record<keyof typeof selectors, string> = {
  isValidSignature: 'isValidSignature(bytes32,bytes)',
  transferWithAuthorization:
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  aggregate3: 'aggregate3((address,bool,bytes)[])',
  settleExact: 'settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)',
  settleUpto:
    'settle(((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)',
  settleExactWithPermit:
    'settleWithPermit((uint256,uint256,bytes32,bytes32,uint8),((address,uint256),uint256,uint256),address,(address,uint256),bytes)',
  settleUptoWithPermit:
    'settleWithPermit((uint256,uint256,bytes32,bytes32,uint8),((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)',
  nonceBitmap: 'nonceBitmap(address,uint256)',
}

const events: Record<keyof typeof topics, string> = {
  authorizationUsed: 'AuthorizationUsed(address,bytes32)',
  authorizationCanceled: 'AuthorizationCanceled(address,bytes32)',
  transfer: 'Transfer(address,address,uint256)',
  nonceInvalidation: 'UnorderedNonceInvalidation(address,uint256,uint256)',
  settled: 'Settled()',
  settledWithPermit: 'SettledWithPermit()',
  called: 'Called(bytes32)',
}

/** Lengths around the 32-byte word. */
const lengths = [0, 1, 31, 32, 33, 64, 65, 97]
const bytes = (length: number): Hex => `0x${'c7'.repeat(length)}`
const address = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`

describe('the constants', () => {
  it.each(Object.entries(signatures))('hold the selector of %s', (name, signature) => {
    expect(selectors[name as keyof typeof selectors]).toBe(toFunctionSelector(signature))
  })

  it.each(Object.entries(events))('hold the topic of %s', (name, signature) => {
    expect(topics[name as keyof typeof topics]).toBe(toEventSelector(signature))
  })
})

describe('calls encoded by hand', () => {
  const { authorization } = aPayment()

  it.each(lengths)('are what viem encodes for a signature of %i bytes', (length) => {
    const { from, to, value, validAfter, validBefore, nonce } = authorization
    expect(encodeTransferWithAuthorization(authorization, bytes(length))).toBe(
      encodeFunctionData({
        abi,
        functionName: 'transferWithAuthorization',
        args: [from, to, value, validAfter, validBefore, nonce, bytes(length)],
      }),
    )
    expect(encodeIsValidSignature(nonce, bytes(length))).toBe(
      encodeFunctionData({ abi, functionName: 'isValidSignature', args: [nonce, bytes(length)] }),
    )
  })

  it('hold the largest values', () => {
    const max = 2n ** 256n - 1n
    const data = encodeTransferWithAuthorization(
      { ...authorization, value: max, validAfter: max, validBefore: max },
      bytes(65),
    )
    const { args } = decodeFunctionData({ abi, data })
    expect(args?.slice(2, 5)).toEqual([max, max, max])
  })

  it.each([0, 1, 2, 50])('are what viem encodes for a batch of %i', (count) => {
    const calls = Array.from({ length: count }, (_, i) => ({
      to: address(i + 1),
      data: bytes(lengths[i % lengths.length] as number),
    }))
    const allowFailure = count > 1
    expect(encodeAggregate3(calls)).toBe(
      encodeFunctionData({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        args: [calls.map(({ to, data }) => ({ target: to, allowFailure, callData: data }))],
      }),
    )
  })
})

describe('the answer of a batch', () => {
  const encode = (results: readonly { success: boolean; returnData: Hex }[]) =>
    encodeAbiParameters(multicall3Abi[0].outputs, [results])

  it.each([0, 1, 3, 50])('of %i members is read as viem wrote it', (count) => {
    const results = Array.from({ length: count }, (_, i) => ({
      success: i % 3 !== 0,
      returnData: bytes(lengths[i % lengths.length] as number),
    }))
    expect(decodeAggregate3(encode(results))).toEqual(
      results.map(({ success, returnData }) => ({ ok: success, data: returnData })),
    )
  })

  it('is refused when it ends early', () => {
    const whole = encode([{ success: true, returnData: bytes(40) }])
    expect(() => decodeAggregate3('0x')).toThrow(RangeError)
    // 9 words: the last two hold the member's bytes.
    for (const words of [1, 2, 3, 4, 5]) {
      expect(() => decodeAggregate3(whole.slice(0, 2 + words * 64) as Hex)).toThrow(RangeError)
    }
  })

  it('is refused when the bytes of a member end early', () => {
    const whole = encode([{ success: true, returnData: bytes(40) }])
    expect(() => decodeAggregate3(whole.slice(0, -128) as Hex)).toThrow(RangeError)
  })

  it('is refused when it names more members than it can hold', () => {
    const lie: Hex = `0x${wordOf(32)}${wordOf(2n ** 40n)}${wordOf(0)}`
    expect(() => decodeAggregate3(lie)).toThrow(RangeError)
  })
})

describe('ABI words', () => {
  it('are padded on the left for a number or an address, on the right for bytes', () => {
    expect(wordOf(255)).toBe('ff'.padStart(64, '0'))
    expect(wordOf(2n ** 256n - 1n)).toBe('f'.repeat(64))
    expect(addressWord('0xABCDEF0000000000000000000000000000000001')).toBe(
      `${'0'.repeat(24)}abcdef0000000000000000000000000000000001`,
    )
    expect(bytesWords('0x')).toBe(wordOf(0))
    expect(bytesWords('0xabcd')).toBe(`${wordOf(2)}abcd${'0'.repeat(60)}`)
  })

  it('give back the address at their end, in lower case', () => {
    expect(addressOf(`0x${addressWord(address(0xab))}`)).toBe(address(0xab))
    expect(addressOf(`0x${'0'.repeat(24)}${'AB'.repeat(20)}`)).toBe(`0x${'ab'.repeat(20)}`)
  })

  it('differ from quantities, which have no leading zeros', () => {
    expect([0n, 1, 255n].map(toQuantity)).toEqual(['0x0', '0x1', '0xff'])
  })
})
