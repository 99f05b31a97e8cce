import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { Address } from 'viem'
import { multicall3Address } from '../../chain/abi.js'
import { batchContracts } from '../../chain/batch-settlement.js'

/** The contracts that each scheme or method needs; it is offered while they have code. */
export const schemeContracts = {
  'batch-settlement': [...Object.values(batchContracts), multicall3Address],
  'exact by Permit2': [permit2Contracts.permit2, permit2Contracts.exactProxy],
  upto: [permit2Contracts.permit2, permit2Contracts.uptoProxy],
} as const satisfies Record<string, readonly Address[]>
