import { type Address, getAddress } from 'viem'
import type { Agent } from '../../chain/identity-registry.js'
import type { Endpoint, Identity, Merchant } from '../../store/listings.js'
import { zeroAddress } from '../../x402/address.js'
import { parseUrl } from '../../x402/parse-url.js'
import {
  type AgentName,
  fetchRegistrationFile,
  type GuardedGet,
  namesAgent,
  type ReadFile,
  readRegistrationFile,
} from './registration-file.js'

/** What a check finds, before it is dated. */
export interface Finding {
  passed: boolean
  /** One sentence. */
  detail: string
}

export type CheckName = keyof Identity['checks']

/** More hosts than a listing has; past this the domain check would be a way to have strangers called. */
export const MAX_HOSTS = 10

/** Whether the wallet that signs the listing owns the agent, or may act for it. */
export function checkControl(agent: Agent | undefined, owner: Address | null): Finding {
  if (agent === undefined) return failed('The registry has no agent with this id.')
  if (owner === null) return failed('Nobody owns the listing yet.')
  const who = getAddress(owner)
  if (isSame(agent.owner, owner)) return passed(`${who} is the owner of the agent.`)
  if (agent.isAuthorized) return passed(`${who} is an operator of the agent.`)
  return failed(`${who} is neither owner nor operator of the agent; ${agent.owner} owns it.`)
}

/** Whether the agent is paid where the listing is, and where its endpoints say in their 402. */
export function checkPay(
  agent: Agent | undefined,
  merchant: Pick<Merchant, 'payTo' | 'network'>,
  endpoints: readonly Pick<Endpoint, 'url' | 'accepts'>[],
): Finding {
  if (agent === undefined) return failed('The registry has no agent with this id.')
  const { wallet } = agent
  if (isSame(wallet, zeroAddress)) return failed('The agent has no wallet set.')
  const payTo = getAddress(merchant.payTo)
  if (!isSame(wallet, payTo)) {
    return failed(`The agent is paid at ${wallet}, the listing at ${payTo}.`)
  }
  const elsewhere = endpoints.find(({ accepts }) => {
    const quoted = accepts.filter(({ network }) => network === merchant.network)
    const isPaid = quoted.some((entry) => isSame(entry.payTo, wallet))
    return quoted.length > 0 && !isPaid
  })
  return elsewhere === undefined
    ? passed(`The agent and the listing are paid at ${payTo}.`)
    : failed(`The agent is paid at ${wallet}; ${hostOf(elsewhere.url)} asks to be paid elsewhere.`)
}

/** Whether the agent's own registration file names the agent. `host` is where it was served from over https. */
export async function checkFile(
  agent: Agent | undefined,
  name: AgentName,
  get: GuardedGet,
): Promise<Finding & { host?: string }> {
  if (agent === undefined) return failed('The registry has no agent with this id.')
  const file = await readRegistrationFile(agent.uri, get)
  const finding = judgeFile(file, name, "The agent's registration file")
  const host = finding.passed && agent.uri !== null ? httpsHost(agent.uri) : undefined
  return host === undefined ? finding : { ...finding, host }
}

/** Whether every host of the listing names the agent in its well-known file; that of `fileHost` has done so. */
export async function checkDomain(
  endpoints: readonly Pick<Endpoint, 'url'>[],
  fileHost: string | undefined,
  name: AgentName,
  get: GuardedGet,
  allowHttp = false,
): Promise<Finding> {
  const origins = [...new Set(endpoints.flatMap(({ url }) => originOf(url, allowHttp)))]
  if (origins.length === 0) return failed('The listing has no endpoint.')
  if (origins.length > MAX_HOSTS) {
    return failed(`The listing has ${origins.length} hosts; at most ${MAX_HOSTS} are read.`)
  }
  const asked = origins.filter((origin) => new URL(origin).host !== fileHost)
  const findings = await Promise.all(
    asked.map(async (origin) => {
      const url = `${origin}/.well-known/agent-registration.json`
      const file = await fetchRegistrationFile(url, get)
      return judgeFile(file, name, `The agent-registration.json of ${new URL(origin).host}`)
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

function judgeFile(read: ReadFile, name: AgentName, what: string): Finding {
  if (!read.ok) return failed(`${what} could not be read: ${read.reason}.`)
  return namesAgent(read.file, name)
    ? passed(`${what} names ${name.registry} and ${name.agentId}.`)
    : failed(`${what} does not name ${name.registry} and ${name.agentId}.`)
}

/** Where a host's well-known file is asked for: over https, however the endpoint is listed. */
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

function isSame(one: unknown, other: string): boolean {
  return typeof one === 'string' && one.toLowerCase() === other.toLowerCase()
}

function passed(detail: string): Finding {
  return { passed: true, detail }
}

function failed(detail: string): Finding {
  return { passed: false, detail }
}
