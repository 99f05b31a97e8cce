import type { Attempt } from '../../src/facilitator/journal/settlement-journal.js'

/** A signed transaction of a relayer that carries nothing, unless said. */
export function anAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    hash: `0x${'1'.padStart(64, '0')}`,
    network: 'eip155:5042',
    relayer: '0x00000000000000000000000000000000000000f1',
    relayerNonce: 5,
    rawTransaction: '0x02f8',
    gasLimit: 200_000n,
    maxFeePerGas: 60_000_000_000n,
    maxPriorityFeePerGas: 1_000_000n,
    createdAt: Date.UTC(2026, 10, 21, 12),
    jobIds: [],
    ...changes,
  }
}
