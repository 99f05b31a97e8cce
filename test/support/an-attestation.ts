import { verifyTypedData } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'

/** A key that signs attestations. */
export function anAttestationKey() {
  const privateKey = generatePrivateKey()
  return { privateKey, address: privateKeyToAddress(privateKey) }
}

/** The types as the draft writes them, not as our source does. */
export const draftTypes = {
  SettlementAttestation: [
    { name: 'version', type: 'uint256' },
    { name: 'network', type: 'string' },
    { name: 'transaction', type: 'string' },
    { name: 'payer', type: 'string' },
    { name: 'payee', type: 'string' },
    { name: 'asset', type: 'string' },
    { name: 'amount', type: 'uint256' },
    { name: 'facilitator', type: 'string' },
    { name: 'facilitatorFee', type: 'uint256' },
    { name: 'observedAt', type: 'uint256' },
  ],
} as const

/** Tells whether `facilitator` signed the attestation: by viem, and by the types as the draft writes them. */
// biome-ignore lint/suspicious/noExplicitAny: an attestation as it came over the wire
export function isSoundAttestation({ payload, signature }: any): Promise<boolean> {
  return verifyTypedData({
    address: payload.facilitator,
    domain: { name: 'x402 receipt', version: '1', chainId: 1 },
    types: draftTypes,
    primaryType: 'SettlementAttestation',
    message: payload,
    signature,
  })
}
