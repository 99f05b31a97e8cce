import type { Address } from 'viem'

/** One of the four checks that a merchant is an ERC-8004 agent. */
export interface IdentityCheck {
  passed: boolean
  /** One sentence; for a check that passed, how. */
  detail: string
  /** Unix seconds. */
  checkedAt: number
}

export interface Identity {
  /** Decimal digits of a uint256; "0" is an agent. */
  agentId: string
  registry: Address
  checks: Record<'control' | 'pay' | 'file' | 'domain', IdentityCheck>
}
