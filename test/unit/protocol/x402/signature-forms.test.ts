import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import {
  canonicalSignature,
  isErc6492Signature,
  unwrapErc6492Signature,
} from '@arcus/protocol/x402/signature-forms'
import { concatHex, type Hex, hashMessage, numberToHex, padHex, recoverAddress, size } from 'viem'
import {
  isErc6492Signature as isWrappedForViem,
  parseErc6492Signature,
  serializeErc6492Signature,
} from 'viem/utils'
import { describe, expect, it } from 'vitest'
import { loadSignerRecovery } from '../../../../src/chain/signer-recovery.js'
import { anAccount } from '../../../support/an-account.js'
import { type Bend, bend, bends, partsOf } from '../../../support/bent-signature.js'

const account = anAccount()
const digest = hashMessage('five cents')
const signature = await account.sign({ hash: digest })
const parts = partsOf(signature)
const strict = await loadSignerRecovery(await createKeccak256())
const isTakenByContracts = (text: unknown) =>
  strict.signerMatches(Buffer.from(digest.slice(2), 'hex'), text as '0x', account.address)

it.each(Object.keys(bends) as Bend[])(
  'a signature with %s is brought into the form that contracts take',
  (how) => {
    const bent = bend(signature, how)
    expect(isTakenByContracts(bent)).toBe(false)
    expect(canonicalSignature(bent)).toBe(signature)
  },
)

it('a signature in that form stays as it is, in lower case', () => {
  expect(canonicalSignature(signature)).toBe(signature)
  expect(canonicalSignature(signature.toUpperCase().replace('0X', '0x'))).toBe(signature)
})

it.each([
  [
    'a parity of one digit',
    `${bend(signature, 'v of 0 or 1').slice(0, -2)}${signature.endsWith('c') ? 1 : 0}`,
  ],
  ['a list of texts', bends['a list of bytes'](parts).map(String)],
  ['what is only like a list', { ...bends['a list of bytes'](parts), length: 65 }],
  [
    'v as text',
    { ...bends['an object'](parts), yParity: null, v: `${Number(`0x${signature.slice(-2)}`)}` },
  ],
])('%s, from which viem recovers the signer, is brought into it as well', async (_, bent) => {
  expect(await recoverAddress({ hash: digest, signature: bent as '0x' })).toBe(account.address)
  expect(canonicalSignature(bent)).toBe(signature)
})

it.each([
  undefined,
  null,
  7,
  true,
  '',
  '0x',
  'signature',
  signature.slice(0, -4),
  `${signature}00`,
  `${signature.slice(0, -2)}1d`,
  `${signature.slice(0, -2)}02`,
  `0x${'00'.repeat(64)}1b`,
  `0x${'ff'.repeat(64)}1b`,
  `${signature.slice(0, 66)}${'00'.repeat(32)}1b`,
  { r: '0x1' },
  { r: {}, s: '0x1', v: 27 },
  { r: '0x1', s: '0x1', v: 29 },
  { r: '0x1', s: '0x1' },
  Array(65).fill(300),
  Array(64).fill(1),
  { length: 65 },
  {},
])('%j is not a signature of anybody', (text) => {
  expect(canonicalSignature(text)).toBeUndefined()
})

const magic: Hex = `0x${'6492'.repeat(16)}`
const factory = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const inner: Hex = `0x${'ab'.repeat(65)}`
const wrapped = serializeErc6492Signature({
  address: factory,
  data: '0xdeadbeef',
  signature: inner,
})

const number = (value: number) => numberToHex(value, { size: 32 })
/** A wrapper spelled word by word. */
const encode = (...words: Hex[]) => concatHex([...words, magic])

describe('isErc6492Signature', () => {
  it.each<[string, Hex, boolean]>([
    ['a wrapped signature', wrapped, true],
    ['the magic word alone', magic, true],
    ['a plain signature', inner, false],
    ['no bytes', '0x', false],
    ['the magic word before the end', `${wrapped}00`, false],
    ['all but the last byte of the magic word', wrapped.slice(0, -2) as Hex, false],
  ])('recognises %s as viem does', (_, signature, expected) => {
    expect(isErc6492Signature(signature)).toBe(expected)
    expect(isWrappedForViem(signature)).toBe(expected)
  })
})

describe('unwrapErc6492Signature', () => {
  it.each([0, 1, 31, 32, 33, 65, 130, 4_096])(
    'takes out an inner signature of %i bytes',
    (length) => {
      const signature: Hex = `0x${'cd'.repeat(length)}`
      const whole = serializeErc6492Signature({ address: factory, data: '0x', signature })
      expect(unwrapErc6492Signature(whole)).toBe(signature)
      if (length > 0) expect(parseErc6492Signature(whole).signature).toBe(signature)
    },
  )

  it('takes off one layer only', () => {
    const twice = serializeErc6492Signature({ address: factory, data: '0x', signature: wrapped })
    expect(unwrapErc6492Signature(twice)).toBe(wrapped)
  })

  it('reads a last argument without its padding', () => {
    const bytes = encode(padHex(factory), number(96), number(128), number(0), number(2), '0xbeef')
    expect(unwrapErc6492Signature(bytes)).toBe('0xbeef')
  })

  it.each<[string, string]>([
    ['a plain signature', inner],
    ['the magic word alone', magic],
    ['two words', encode(padHex(factory), number(64))],
    [
      'a factory wider than an address',
      encode(padHex('0x01', { dir: 'right' }), number(96), number(96), number(0)),
    ],
    ['calldata past the end', encode(padHex(factory), number(160), number(96), number(0))],
    ['a signature past the end', encode(padHex(factory), number(96), number(160), number(0))],
    [
      'a signature of two bytes of which one is there',
      encode(padHex(factory), number(96), number(96), number(2), '0xbe'),
    ],
    [
      'a signature one byte longer than what is there',
      encode(padHex(factory), number(96), number(96), number(1)),
    ],
    ['a length cut in half', encode(padHex(factory), number(96), number(112), number(0))],
    [
      'an offset of 2^255',
      encode(padHex(factory), number(96), numberToHex(2n ** 255n, { size: 32 }), number(0)),
    ],
    ['a length of 2^32', encode(padHex(factory), number(96), number(96), number(2 ** 32))],
    ['a digit that is none', wrapped.replace('deadbeef', 'deadbeeg')],
    ['half a byte', `0x0${wrapped.slice(2)}`],
    ['no prefix', wrapped.slice(2)],
  ])('finds nothing in %s', (_, signature) => {
    expect(unwrapErc6492Signature(signature as Hex)).toBeUndefined()
  })

  it('answers at once for the largest body the service reads', () => {
    const signature: Hex = `0x${'ee'.repeat(128 * 1024)}`
    const whole = serializeErc6492Signature({ address: factory, data: '0x', signature })
    expect(size(unwrapErc6492Signature(whole) ?? '0x')).toBe(128 * 1024)
  })
})
