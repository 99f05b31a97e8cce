import type { Job } from '../../src/facilitator/journal/settlement-journal.js'

/** The row of a payment that waits, unless said. */
export function aRow(changes: Partial<Job> = {}): Job {
  return {
    id: 'job-1',
    kind: 'exact',
    network: 'eip155:5042',
    key: 'a key',
    digest: `0x${'d1'.repeat(32)}`,
    round: 0,
    state: 'queued',
    to: `0x${'36'.repeat(20)}`,
    calldata: '0x',
    details: '{}',
    resource: null,
    seenBlock: 100,
    expiresAt: 1_800_000_600,
    transaction: null,
    reason: null,
    message: null,
    blockNumber: null,
    unusedBlock: null,
    usedBlock: null,
    gasCost: null,
    createdAt: 1_800_000_000_000,
    updatedAt: 1_800_000_000_000,
    deliveryUntil: null,
    deliveredAt: null,
    deliveredKey: null,
    attestation: null,
    ...changes,
  }
}
