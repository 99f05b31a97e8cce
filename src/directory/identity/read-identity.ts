import type { Endpoint, Identity, Merchant } from '../../store/listings.js'
import { checkControl, checkDomain, checkFile, checkPay, type Finding } from './checks.js'
import type { GuardedGet } from './registration-file.js'
import type { IdentityRegistry } from './registry.js'

export interface ReadIdentityOptions {
  registry: Pick<IdentityRegistry, 'address' | 'name' | 'isServed' | 'readAgent'>
  get: GuardedGet
  /** Unix milliseconds. */
  now: () => number
  /** For local trials: asks hosts that are listed with http over http. */
  allowHttp?: boolean
}

/**
 * Makes the four checks of the agent a merchant says it is; `null` where no registry is served. Throws
 * `RpcUnavailableError`, so that a silent chain is never taken for a lost agent.
 */
export type ReadIdentity = (
  merchant: Merchant & { agentId: string },
  endpoints: readonly Endpoint[],
) => Promise<Identity | null>

export function createIdentityReader(options: ReadIdentityOptions): ReadIdentity {
  const { registry, get, now, allowHttp = false } = options
  const dated = ({ passed, detail }: Finding) => ({
    passed,
    detail,
    checkedAt: Math.floor(now() / 1000),
  })

  return async (merchant, endpoints) => {
    if (!(await registry.isServed())) return null
    const { agentId, owner } = merchant
    const name = { registry: registry.name, agentId }
    const agent = await registry.readAgent(agentId, owner ?? merchant.payTo)
    const control = dated(checkControl(agent, owner))
    const pay = dated(checkPay(agent, merchant, endpoints))
    const { host, ...found } = await checkFile(agent, name, get)
    const file = dated(found)
    const domain = dated(await checkDomain(endpoints, host, name, get, allowHttp))
    return { agentId, registry: registry.address, checks: { control, pay, file, domain } }
  }
}
