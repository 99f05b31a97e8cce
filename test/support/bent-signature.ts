import { type Hex, isHex, type TypedDataDefinition } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'

/** Order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const word = (value: bigint) => value.toString(16).padStart(64, '0')

/** Other spellings of a signature: libraries off chain recover the same signer from them, contracts refuse them. */
export const bends = {
  'v of 0 or 1': (it) => `0x${word(it.r)}${word(it.s)}0${it.parity}`,
  'a high s': (it) => `0x${word(it.r)}${word(ORDER - it.s)}${(28 - it.parity).toString(16)}`,
  'a high s and v of 0 or 1': (it) => `0x${word(it.r)}${word(ORDER - it.s)}0${1 - it.parity}`,
  'the compact form': (it) => `0x${word(it.r)}${word((BigInt(it.parity) << 255n) | it.s)}`,
  'an object': (it) => ({ r: `0x${word(it.r)}`, s: `0x${word(it.s)}`, yParity: it.parity }),
  'a list of bytes': (it) => [
    ...Buffer.from(`${word(it.r)}${word(it.s)}${(27 + it.parity).toString(16)}`, 'hex'),
  ],
} as const satisfies Record<string, (parts: Parts) => unknown>

export type Bend = keyof typeof bends

interface Parts {
  r: bigint
  s: bigint
  parity: number
}

/** Returns the parts of a signature in the usual form. */
export function partsOf(signature: Hex): Parts {
  if (!isHex(signature) || signature.length !== 132) throw new Error('not a plain signature')
  const r = BigInt(signature.slice(0, 66))
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  return { r, s, parity: Number(`0x${signature.slice(130)}`) - 27 }
}

export function bend(signature: Hex, how: Bend): Hex {
  return bends[how](partsOf(signature)) as Hex
}

/** An account that signs as some hardware does; `isBent` says which of its typed data. */
export function bendingAccount(
  account: PrivateKeyAccount,
  how: Bend,
  isBent: (typed: TypedDataDefinition) => boolean = () => true,
): PrivateKeyAccount {
  const signTypedData = async (typed: TypedDataDefinition) => {
    const signature = await account.signTypedData(typed)
    return isBent(typed) ? bend(signature, how) : signature
  }
  return { ...account, signTypedData } as PrivateKeyAccount
}
