import {
  type Attestation,
  type AttestationPayload,
  attestationInfoSchema,
  FACILITATOR_ATTESTATION,
} from '@arcus/protocol/x402/attestation'
import { createAttestationDigest } from '@arcus/protocol/x402/attestation-digest'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import secp256k1 from 'secp256k1'
import { type Address, type Hex, hexToBytes } from 'viem'
import { toSeconds } from '../../async/time.js'
import type { Receipt } from '../../chain/receipts.js'
import { RESTORED_KEY } from '../journal/deliveries.js'
import type { Job } from '../journal/settlement-journal.js'
import { addressOf } from '../relayer/signer.js'

/** The transfer that an attestation is about. The amount is in atomic units. */
export interface SettledTransfer {
  payer: Address
  payTo: Address
  asset: Address
  amount: string
}

/** The members of an attestation that the journal keeps with a confirmed job; the rest is in the row. */
interface KeptAttestation {
  facilitator: Address
  observedAt: string
  signature: Hex
}

/** Signs attestations of settlements with a key of its own. */
export interface Attestor {
  /** With EIP-55 checksum. */
  address: Address
  /**
   * Signs that this transaction settled the job, and returns what the journal keeps of it. `undefined` for a job of a
   * restored database: it may have been attested before, and a facilitator attests to a settlement once.
   */
  attest(
    job: Pick<Job, 'network' | 'deliveredKey'>,
    transfer: SettledTransfer,
    receipt: Receipt,
  ): string | undefined
}

/**
 * Makes the attestor of a private key. Signatures are deterministic (RFC 6979) and take native code some 65 µs. `now` is in
 * Unix milliseconds.
 */
export function createAttestor(options: {
  privateKey: Hex
  keccak256: Keccak256
  checksum: (address: Address) => Address
  now: () => number
}): Attestor {
  const { keccak256, checksum, now } = options
  const key = hexToBytes(options.privateKey)
  const address = checksum(addressOf(secp256k1.publicKeyCreate(key, false), keccak256))
  const digest = createAttestationDigest(keccak256)
  return {
    address,
    attest(job, transfer, receipt) {
      if (job.deliveredKey === RESTORED_KEY) return undefined
      const observedAt = String(receipt.minedAt ?? toSeconds(now()))
      const transaction = receipt.transactionHash
      const { network } = job
      const signed = { network, transaction, facilitator: address, observedAt }
      const payload = toPayload(signed, transfer, checksum)
      const { signature, recid } = secp256k1.ecdsaSign(digest(payload), key)
      const bytes = Buffer.concat([signature, Buffer.of(27 + recid)])
      const kept: KeptAttestation = {
        facilitator: address,
        observedAt,
        signature: `0x${bytes.toString('hex')}`,
      }
      return JSON.stringify(kept)
    },
  }
}

/** Rebuilds the attestation of a confirmed job, each time the same; `undefined` if it has none. */
export function attestationOf(
  job: Job,
  transfer: SettledTransfer,
  checksum: (address: Address) => Address,
): Attestation | undefined {
  if (job.attestation === null || job.transaction === null) return undefined
  const { facilitator, observedAt, signature }: KeptAttestation = JSON.parse(job.attestation)
  const { network, transaction } = job
  const signed = { network, transaction, facilitator, observedAt }
  return { format: 'eip712', payload: toPayload(signed, transfer, checksum), signature }
}

function toPayload(
  signed: Pick<AttestationPayload, 'network' | 'transaction' | 'facilitator' | 'observedAt'>,
  { payer, payTo, asset, amount }: SettledTransfer,
  checksum: (address: Address) => Address,
): AttestationPayload {
  return {
    version: 1,
    network: signed.network,
    transaction: signed.transaction,
    payer: checksum(payer),
    payee: checksum(payTo),
    asset: checksum(asset),
    amount,
    facilitator: signed.facilitator,
    facilitatorFee: '0',
    observedAt: signed.observedAt,
  }
}

/** Returns the `extensions` of a success with this attestation. */
export function attestationExtensions(attestation: Attestation) {
  const extension = { info: { attestation }, schema: attestationInfoSchema }
  return { [FACILITATOR_ATTESTATION]: extension }
}
