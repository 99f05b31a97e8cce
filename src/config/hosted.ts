import type { Address } from 'viem'
import type { Env } from './env.js'

/** Endpoints the operator sells in the same process. */
export interface HostedConfig {
  /** Who is paid: the buyback wallet. */
  readonly payTo: Address
  /** How often what channels earned is claimed and settled. */
  readonly claimSeconds: number
}

interface HostedSettings {
  HOSTED_ENDPOINTS: boolean
  HOSTED_CLAIM_SECONDS: number
  BUYBACK_ADDRESS?: Address | undefined
}

export function hostedConfig(set: HostedSettings): HostedConfig | undefined {
  const payTo = set.BUYBACK_ADDRESS
  if (!set.HOSTED_ENDPOINTS || payTo === undefined) return undefined
  return Object.freeze({ payTo, claimSeconds: set.HOSTED_CLAIM_SECONDS })
}

/** What must be set together. The key itself is read by `readSecrets`. */
export function hostedProblems(env: Env): string[] {
  if (!isHosting(env)) return forgottenSwitch(env)
  const problems: string[] = []
  if (env.BUYBACK_ADDRESS === undefined) {
    problems.push(
      'HOSTED_ENDPOINTS is true but BUYBACK_ADDRESS is not set: hosted endpoints are paid at the buyback wallet.',
    )
  }
  if (env.HOSTED_PRIVATE_KEY === undefined) {
    problems.push(
      'HOSTED_ENDPOINTS is true but HOSTED_PRIVATE_KEY is not set: the key that signs claims and pays back what ' +
        'metered calls did not use.',
    )
  }
  return problems
}

/** With `false` they are off on purpose, and the rest may wait for another day. */
function forgottenSwitch(env: Env): string[] {
  if (env.HOSTED_ENDPOINTS !== undefined) return []
  return (['HOSTED_PRIVATE_KEY', 'HOSTED_CLAIM_SECONDS'] as const)
    .filter((name) => env[name] !== undefined)
    .map(
      (name) =>
        `${name} is set but HOSTED_ENDPOINTS is not: set it to true, or to false to leave them off.`,
    )
}

export function isHosting(env: Env): boolean {
  return ['true', '1'].includes(env.HOSTED_ENDPOINTS ?? '')
}
