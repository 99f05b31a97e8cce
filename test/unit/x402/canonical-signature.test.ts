import { hashMessage, recoverAddress } from 'viem'
import { expect, it } from 'vitest'
import { canonicalSignature } from '../../../src/x402/canonical-signature.js'
import { createKeccak256 } from '../../../src/x402/keccak.js'
import { loadSignerRecovery } from '../../../src/x402/signer-recovery.js'
import { anAccount } from '../../support/a-channel.js'
import { type Bend, bend, bends } from '../../support/bent-signature.js'

const account = anAccount()
const digest = hashMessage('five cents')
const signature = await account.sign({ hash: digest })
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
  ['a list of texts', (bend(signature, 'a list of bytes') as unknown as number[]).map(String)],
  [
    'what is only like a list',
    { ...(bend(signature, 'a list of bytes') as unknown as object), length: 65 },
  ],
  [
    'v as text',
    {
      ...(bend(signature, 'an object') as unknown as object),
      yParity: null,
      v: `${Number(`0x${signature.slice(-2)}`)}`,
    },
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
])('%j can be nobody’s signature', (text) => {
  expect(canonicalSignature(text)).toBeUndefined()
})
