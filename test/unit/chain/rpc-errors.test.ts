import { describe, expect, it } from 'vitest'
import {
  classifySendError,
  decodeRevert,
  isRevert,
  RpcResponseError,
  RpcUnavailableError,
  revertText,
  type SendProblem,
} from '../../../src/chain/rpc-errors.js'

/** Messages of `eth_sendRawTransaction`, as the nodes write them. */
const geth: [string, SendProblem][] = [
  ['already known', 'alreadyKnown'],
  ['nonce too low: next nonce 5, tx nonce 3', 'nonceTooLow'],
  ['nonce too high', 'nonceTooHigh'],
  ['replacement transaction underpriced', 'underpriced'],
  ['transaction underpriced: gas tip cap 0, minimum needed 1', 'underpriced'],
  [
    'max fee per gas less than block base fee: address 0x…, maxFeePerGas: 1, baseFee: 7',
    'feeBelowBase',
  ],
  [
    'insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000',
    'insufficientFunds',
  ],
  ['intrinsic gas too low: gas 100, minimum needed 21000', 'intrinsicGas'],
  ['insufficient gas for floor data gas cost: gas 21000, minimum needed 30000', 'intrinsicGas'],
  ['exceeds block gas limit', 'gasAboveLimit'],
]

const reth: [string, SendProblem][] = [
  ['already known', 'alreadyKnown'],
  ['nonce too low: next nonce 5, tx nonce 3', 'nonceTooLow'],
  ['nonce too high', 'nonceTooHigh'],
  ['replacement transaction underpriced', 'underpriced'],
  ['transaction underpriced', 'underpriced'],
  ['max fee per gas less than block base fee', 'feeBelowBase'],
  ['insufficient funds for gas * price + value: have 0 want 21000', 'insufficientFunds'],
  ['intrinsic gas too low', 'intrinsicGas'],
  ['exceeds block gas limit', 'gasAboveLimit'],
  ['transaction gas limit too high', 'gasAboveLimit'],
  ['transaction gas limit is greater than the gas limit cap', 'gasAboveLimit'],
]

const anvil: [string, SendProblem][] = [
  ['transaction already imported', 'alreadyKnown'],
  ['nonce too low', 'nonceTooLow'],
  ['replacement transaction underpriced', 'underpriced'],
  ['max fee per gas less than block base fee', 'feeBelowBase'],
  ['Insufficient funds for gas * price + value', 'insufficientFunds'],
  ['intrinsic gas too low', 'intrinsicGas'],
  ['intrinsic gas too high', 'gasAboveLimit'],
]

const refused = (message: string) => new RpcResponseError(-32_000, message, undefined)

describe('the refusal of a transaction', () => {
  it.each(geth)('by geth: %s', (message, problem) => {
    expect(classifySendError(refused(message))).toBe(problem)
  })
  it.each(reth)('by reth: %s', (message, problem) => {
    expect(classifySendError(refused(message))).toBe(problem)
  })
  it.each(anvil)('by anvil: %s', (message, problem) => {
    expect(classifySendError(refused(message))).toBe(problem)
  })
  it.each([
    'sender is blocklisted',
    'address is on the denylist',
    'sender is blocked',
    'address is blacklisted',
  ])('for its sender: %s', (message) => {
    expect(classifySendError(refused(message))).toBe('senderBlocked')
  })
  it('is unknown in any other wording, and when no node answered', () => {
    expect(classifySendError(refused('database is on fire'))).toBe('unknown')
    expect(classifySendError(new RpcUnavailableError('gone'))).toBe('unknown')
    expect(classifySendError(new Error('nonce too low'))).toBe('unknown')
    expect(classifySendError(undefined)).toBe('unknown')
  })
})

describe('a revert', () => {
  const errorString =
    '0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000106e6f7420656e6f75676820666f6f6421000000000000000000000000000000'

  it('is distinguished from a node that could not run the call', () => {
    expect(isRevert(new RpcResponseError(3, 'anything', '0x'))).toBe(true)
    expect(isRevert(refused('execution reverted'))).toBe(true)
    expect(isRevert(refused('VM Exception while processing transaction: revert'))).toBe(true)
    expect(isRevert(refused('out of gas'))).toBe(true)
    expect(isRevert(refused('EVM error OutOfGas'))).toBe(true)
    expect(isRevert(refused('missing trie node'))).toBe(false)
    expect(isRevert(new RpcUnavailableError('execution reverted'))).toBe(false)
  })

  it.each<[number, string, unknown, boolean]>([
    [-32_015, 'VM execution error.', 'Reverted 0x', true],
    [-32_000, 'Execution reverted (rate limit)', undefined, true],
    [
      -32_603,
      'Error: VM Exception while processing transaction: reverted with reason string "quota"',
      undefined,
      true,
    ],
    [-32_603, 'Internal error: execution reverted: request timed out', undefined, true],
    [-32_000, 'error', '0x08c379a0', true],
    [-32_000, 'invalid jump destination', undefined, true],
    [-32_000, 'stack underflow (0 <=> 1)', undefined, true],
    [-32_000, 'invalid opcode: opcode 0xfe not defined', undefined, true],
    [-32_000, 'gas required exceeds allowance (600000)', undefined, true],
    [-32_000, 'gas required exceeds allowance (0)', undefined, false],
    [-32_000, 'max initcode size exceeded: code size 60000 limit 49152', undefined, true],
    [-32_000, 'execution aborted (timeout = 5s)', undefined, false],
    [-32_000, 'rate limit exceeded: no call was reverted', undefined, false],
    [-32_603, 'internal error', undefined, false],
  ])('is recognized by code, data and the first words: %d %j %j', (code, message, data, isOne) => {
    expect(isRevert(new RpcResponseError(code, message, data))).toBe(isOne)
  })

  it('is read from its data, nested or not, before the message of the node', () => {
    const text = (data: unknown, message = 'execution reverted: in words') =>
      revertText(new RpcResponseError(3, message, data))
    expect(text(errorString)).toBe('not enough food!')
    expect(text({ data: errorString })).toBe('not enough food!')
    expect(text(undefined)).toBe('in words')
    expect(text('0x')).toBe('in words')
    expect(text('Reverted 0x')).toBe('in words')
    expect(text(`0x12345678${'00'.repeat(32)}`)).toBe('custom error 0x12345678')
    expect(text(`Reverted ${errorString}`)).toBe('not enough food!')
    expect(text(undefined, 'execution reverted: execution reverted: no')).toBe(
      'execution reverted: no',
    )
    expect(text(undefined, `execution reverted: ${'x'.repeat(500)}`)).toHaveLength(200)
  })

  it('of a panic gives its code', () => {
    expect(decodeRevert(`0x4e487b71${'11'.padStart(64, '0')}`)).toBe('panic 17')
    expect(decodeRevert('0x')).toBeUndefined()
  })
})
