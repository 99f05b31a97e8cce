import { createChecksum } from '@arcus/protocol/x402/address'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { expect, it } from 'vitest'
import type { Receipt } from '../../../../src/chain/receipts.js'
import { RESTORED_KEY } from '../../../../src/facilitator/journal/deliveries.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { attestationOf, createAttestor } from '../../../../src/facilitator/methods/attestor.js'
import { anAttestationKey, isSoundAttestation } from '../../../support/an-attestation.js'

const transaction = `0x${'ab'.repeat(32)}` as const
const receipt: Receipt = {
  transactionHash: transaction,
  blockNumber: 42,
  isSuccess: true,
  gasUsed: 1n,
  effectiveGasPrice: 1n,
  logs: [],
}
const job = { network: 'eip155:5042', deliveredKey: null }
const transfer = {
  payer: '0x90f79bf6eb2c4f870365e785982e1f101e93b906',
  payTo: '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65',
  asset: '0x89b50855aa3be2f677cd6303cec089b5f319d72a',
  amount: '10000',
} as const

const keccak256 = await createKeccak256()
const checksum = createChecksum(keccak256)
const key = anAttestationKey()
const now = () => 1_800_000_000_999
const attestor = createAttestor({ ...key, keccak256, checksum, now })

/** What the journal would give back. */
const restore = (attestation: string | undefined) =>
  attestationOf({ ...job, transaction, attestation } as Job, transfer, checksum)

it('signs the same statement twice alike, and it verifies', async () => {
  const kept = attestor.attest(job, transfer, { ...receipt, minedAt: 1_795_262_400 })
  expect(attestor.attest(job, transfer, { ...receipt, minedAt: 1_795_262_400 })).toBe(kept)
  const attestation = restore(kept)
  expect(attestation?.payload).toMatchObject({
    asset: '0x89B50855Aa3bE2F677cD6303Cec089B5F319D72a',
    facilitator: key.address,
    observedAt: '1795262400',
  })
  expect(await isSoundAttestation(attestation)).toBe(true)
})

it('goes by its own clock where the node does not give the time of the block', () => {
  expect(restore(attestor.attest(job, transfer, receipt))?.payload.observedAt).toBe('1800000000')
})

it('signs nothing for a payment of a restored database, which may have been attested before', () => {
  const restored = { ...job, deliveredKey: RESTORED_KEY }
  expect(attestor.attest(restored, transfer, receipt)).toBeUndefined()
})
