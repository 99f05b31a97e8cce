import { isSameAddress, zeroAddress } from '@arcus/protocol/x402/address'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import { type Address, getAddress } from 'viem'
import type { Agent } from '../../chain/identity-registry.js'
import type { GuardedFetch } from '../probe/guarded-fetch.js'
import type { Identity, Merchant, StoredEndpoint } from '../store/listings.js'
import {
  type AgentName,
  fetchRegistrationFile,
  namesAgent,
  type ReadFile,
  readRegistrationFile,
} from './registration-file.js'
import type { IdentityRegistry } from './registry.js'

/** The result of a check, before it is dated. */
interface IdentityFinding {
  passed: boolean
  /** One sentence. */
  detail: string
}

/** More hosts than a listing has. Beyond it the domain check could be used to call strangers. */
export const MAX_HOSTS = 10

/** Checks that the wallet of the listing owns the agent, or may act for it. */
export function checkControl(agent: Agent | undefined, owner: Address | null): IdentityFinding {
  if (agent === undefined) return failed('The registry has no agent with this id.')
  if (owner === null) return failed('Nobody owns the listing yet.')
  const who = getAddress(owner)
  if (isSameAddress(agent.owner, owner)) return passed(`${who} is the owner of the agent.`)
  if (agent.isAuthorized) return passed(`${who} is an operator of the agent.`)
  return failed(`${who} is neither owner nor operator of the agent; ${agent.owner} owns it.`)
}

/** Checks that the agent is paid at the address of the listing, and of the 402 of its endpoints. */
export function checkPay(
  agent: Agent | undefined,
  merchant: Pick<Merchant, 'payTo' | 'network'>,
  endpoints: readonly Pick<StoredEndpoint, 'url' | 'accepts'>[],
): IdentityFinding {
  if (agent === undefined) return failed('The registry has no agent with this id.')
  const { wallet } = agent
  if (isSameAddress(wallet, zeroAddress)) return failed('The agent has no wallet set.')
  const payTo = getAddress(merchant.payTo)
  if (!isSameAddress(wallet, payTo)) {
    return failed(`The agent is paid at ${wallet}, the listing at ${payTo}.`)
  }
  const elsewhere = endpoints.find(({ accepts }) => {
    const quoted = accepts.filter(({ network }) => network === merchant.network)
    const isPaid = quoted.some((entry) => isSameAddress(entry.payTo, wallet))
    return quoted.length > 0 && !isPaid
  })
  return elsewhere === undefined
    ? passed(`The agent and the listing are paid at ${payTo}.`)
    : failed(`The agent is paid at ${wallet}; ${hostOf(elsewhere.url)} asks to be paid elsewhere.`)
}

/** Checks that the agent's registration file names the agent. `host` is the https host that served it. */
export async function checkFile(
  agent: Agent | undefined,
  name: AgentName,
  fetch: GuardedFetch,
): Promise<IdentityFinding & { host?: string }> {
  if (agent === undefined) return failed('The registry has no agent with this id.')
  const file = await readRegistrationFile(agent.uri, fetch)
  const finding = checkNames(file, name, "The agent's registration file")
  const host = finding.passed && agent.uri !== null ? httpsHost(agent.uri) : undefined
  return host === undefined ? finding : { ...finding, host }
}

/** Checks that every host of the listing names the agent in its well-known file; `fileHost` has done so already. */
export async function checkDomain(
  endpoints: readonly Pick<StoredEndpoint, 'url'>[],
  fileHost: string | undefined,
  name: AgentName,
  fetch: GuardedFetch,
  allowHttp = false,
): Promise<IdentityFinding> {
  const origins = [...new Set(endpoints.flatMap(({ url }) => originOf(url, allowHttp)))]
  if (origins.length === 0) return failed('The listing has no endpoint.')
  if (origins.length > MAX_HOSTS) {
    return failed(`The listing has ${origins.length} hosts; at most ${MAX_HOSTS} are read.`)
  }
  const asked = origins.filter((origin) => new URL(origin).host !== fileHost)
  const findings = await Promise.all(
    asked.map(async (origin) => {
      const url = `${origin}/.well-known/agent-registration.json`
      const file = await fetchRegistrationFile(url, fetch)
      return checkNames(file, name, `The agent-registration.json of ${new URL(origin).host}`)
    }),
  )
  const refusal = findings.find((finding) => !finding.passed)
  if (refusal !== undefined) return refusal
  return passed(
    asked.length === 0
      ? `The registration file is served by ${fileHost} itself.`
      : `Named by ${origins.map((origin) => new URL(origin).host).join(', ')}.`,
  )
}

function checkNames(read: ReadFile, name: AgentName, what: string): IdentityFinding {
  if (!read.ok) return failed(`${what} could not be read: ${read.reason}.`)
  return namesAgent(read.file, name)
    ? passed(`${what} names ${name.registry} and ${name.agentId}.`)
    : failed(`${what} does not name ${name.registry} and ${name.agentId}.`)
}

/** Returns the origin of a host's well-known file: https, however the endpoint is listed. */
function originOf(url: string, allowHttp: boolean): string[] {
  const parsed = parseUrl(url)
  if (parsed === undefined) return []
  const { protocol, host, origin } = parsed
  return [protocol === 'http:' && !allowHttp ? `https://${host}` : origin]
}

function httpsHost(uri: string): string | undefined {
  const url = parseUrl(uri)
  return url?.protocol === 'https:' ? url.host : undefined
}

function hostOf(url: string): string {
  return parseUrl(url)?.host ?? 'an endpoint'
}

function passed(detail: string): IdentityFinding {
  return { passed: true, detail }
}

function failed(detail: string): IdentityFinding {
  return { passed: false, detail }
}

interface ReadIdentityOptions {
  registry: Pick<IdentityRegistry, 'address' | 'name' | 'isServed' | 'readAgent'>
  fetch: GuardedFetch
  /** Unix milliseconds. */
  now: () => number
  /** For local use: asks hosts that are listed with http over http. */
  allowHttp?: boolean
}

/**
 * Checks the linked agent of a merchant in four ways; `null` where no registry is served. Throws `RpcUnavailableError`,
 * so that a chain without an answer is never taken for a lost agent.
 */
export type ReadIdentity = (
  merchant: Merchant & { agentId: string },
  endpoints: readonly StoredEndpoint[],
) => Promise<Identity | null>

export function createIdentityReader(options: ReadIdentityOptions): ReadIdentity {
  const { registry, fetch, now, allowHttp = false } = options
  const dated = ({ passed, detail }: IdentityFinding) => ({
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
    const { host, ...found } = await checkFile(agent, name, fetch)
    const file = dated(found)
    const domain = dated(await checkDomain(endpoints, host, name, fetch, allowHttp))
    return { agentId, registry: registry.address, checks: { control, pay, file, domain } }
  }
}
