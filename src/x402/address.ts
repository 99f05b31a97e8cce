import type { Address } from 'viem'

const encoder = new TextEncoder()

export const zeroAddress: Address = '0x0000000000000000000000000000000000000000'

/** Contracts of `batch-settlement`, where x402 has them on every chain; lower-case. */
export const channelContracts = {
  settlement: '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003',
  erc3009Collector: '0x4020806089470a89826cb9fb1f4059150b550004',
  permit2Collector: '0x4020425faf3b746c082c2f942b4e5159887b0005',
} as const satisfies Record<string, Address>

/** Whether an address, in either case, is a contract of x402 that keeps for good what is paid to it. */
export function isChannelContract(address: string): boolean {
  return (Object.values(channelContracts) as string[]).includes(address.toLowerCase())
}

/** Addresses whose form is remembered: who pays once mostly pays again. */
const MAX_REMEMBERED = 5_000

/** Makes the EIP-55 form of lower-case addresses with the fast hash, for answers on the hot path. */
export function createChecksum(
  keccak256: (bytes: Uint8Array) => Uint8Array,
): (address: Address) => Address {
  const remembered = new Map<Address, Address>()
  return (address) => {
    const known = remembered.get(address)
    if (known !== undefined) return known
    const checksummed = compute(address)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(address, checksummed)
    return checksummed
  }

  function compute(address: Address): Address {
    const digits = address.slice(2).toLowerCase()
    const hash = keccak256(encoder.encode(digits))
    let checksummed = '0x'
    for (let i = 0; i < digits.length; i++) {
      const byte = hash[i >> 1] ?? 0
      const nibble = i % 2 === 0 ? byte >> 4 : byte & 15
      const digit = digits[i] ?? ''
      checksummed += nibble >= 8 ? digit.toUpperCase() : digit
    }
    return checksummed as Address
  }
}
