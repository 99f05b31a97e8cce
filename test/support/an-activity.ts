import type { Address } from 'viem'
import type { NewActivity } from '../../src/directory/store/activity.js'

export const activityPayTo: Address = '0x3333333333333333333333333333333333333333'

export const activityAsset: Address = '0x3600000000000000000000000000000000000000'

/** A settled payment of one cent at noon of 2026-11-20, unless wished otherwise. */
export function anActivity(over: Partial<NewActivity> = {}): NewActivity {
  return {
    at: Date.parse('2026-11-20T12:00:00Z'),
    kind: 'settle',
    network: 'eip155:5042',
    merchantId: 'weather',
    endpointId: 1,
    resource: 'https://api.example.com/weather',
    toolName: null,
    payTo: activityPayTo,
    payer: '0x4444444444444444444444444444444444444444',
    nonce: null,
    asset: activityAsset,
    amount: 10_000n,
    state: 'settled',
    reason: null,
    transaction: `0x${'ab'.repeat(32)}`,
    settlementId: crypto.randomUUID(),
    latencyMs: 540,
    gasCost: 2_000_000_000_000_000n,
    isSelf: false,
    ...over,
  }
}
