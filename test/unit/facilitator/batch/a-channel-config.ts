import type { ChannelConfig } from '@arcus/protocol/x402/batch-schemas'
import type { Address } from 'viem'
import { batchContracts } from '../../../../src/chain/batch-settlement.js'
import { usdc } from '../../../support/simulated/a-relayer.js'

export const payer: Address = `0x${'a1'.repeat(20)}`
export const receiver: Address = `0x${'b2'.repeat(20)}`
export const blocked: Address = `0x${'bb'.repeat(20)}`
export const batchContract = batchContracts.settlement
export const signature = `0x${'ab'.repeat(65)}` as const

/** A channel of a payer with a receiver, whose own keys sign for both. */
export function aConfig(changes: Partial<ChannelConfig> = {}): ChannelConfig {
  return {
    payer,
    payerAuthorizer: payer,
    receiver,
    receiverAuthorizer: receiver,
    token: usdc,
    withdrawDelay: 900,
    salt: `0x${'00'.repeat(32)}`,
    ...changes,
  }
}
