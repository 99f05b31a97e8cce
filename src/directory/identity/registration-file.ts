import { parseUint256 } from '@arcus/protocol/x402/amounts'
import { isObject } from '@arcus/protocol/x402/json'
import type { GuardedFetch } from '../probe/guarded-fetch.js'

/** An agent by its global name. */
export interface AgentName {
  /** `eip155:{chainId}:{address}`. */
  registry: string
  agentId: string
}

/** A registration file, or the reason for its absence, as the end of a sentence. */
export type ReadFile = { ok: true; file: Record<string, unknown> } | { ok: false; reason: string }

/** A registration file with icons and services is a few kilobytes; the guarded fetch has the same bound. */
export const MAX_FILE_BYTES = 64 * 1024

/** Reads the file that a `tokenURI` names: https through the guard, or JSON in a `data:` URI. */
export async function readRegistrationFile(
  uri: string | null,
  fetch: GuardedFetch,
): Promise<ReadFile> {
  if (uri === null) return refused('its URI is longer than 96 KiB')
  if (uri === '') return refused('the agent has no URI')
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase()
  if (scheme === 'data') return readDataUri(uri)
  if (scheme === 'ipfs') return refused('ipfs is not read')
  if (scheme !== 'https') return refused('its URI is neither https nor data')
  return fetchRegistrationFile(uri, fetch)
}

export async function fetchRegistrationFile(url: string, fetch: GuardedFetch): Promise<ReadFile> {
  const answer = await fetch({ url, method: 'GET' })
  if (answer.kind !== 'answer') return refused(asClause(answer.message))
  const { status } = answer.head
  return status === 200 ? parseFile(answer.body) : refused(`the host answered ${status}`)
}

/**
 * Returns whether `registrations` of the file names the agent. The id may be a number or a string of digits; a number above
 * 2^53 is not exact and counts as no id.
 */
export function namesAgent(
  file: Record<string, unknown>,
  { registry, agentId }: AgentName,
): boolean {
  const { registrations } = file
  if (!Array.isArray(registrations)) return false
  return registrations.some((entry: unknown) => {
    if (!isObject(entry)) return false
    const { agentRegistry, agentId: id } = entry
    return (
      typeof agentRegistry === 'string' &&
      agentRegistry.toLowerCase() === registry.toLowerCase() &&
      parseAgentId(Number.isSafeInteger(id) ? String(id) : id) === agentId
    )
  })
}

function readDataUri(uri: string): ReadFile {
  const comma = uri.indexOf(',')
  const [type = '', ...parameters] = uri.slice('data:'.length, comma).toLowerCase().split(';')
  if (comma < 0 || type.trim() !== 'application/json') return refused('its data URI is not JSON')
  const isBase64 = parameters.at(-1)?.trim() === 'base64'
  const data = uri.slice(comma + 1)
  try {
    return parseFile(isBase64 ? decodeBase64(data) : decodeURIComponent(data))
  } catch {
    return refused('its data URI cannot be decoded')
  }
}

function decodeBase64(data: string): string {
  // Node skips other characters, and a reader elsewhere would not see the same file.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data)) throw new SyntaxError('not base64')
  return Buffer.from(data, 'base64').toString('utf8')
}

function parseFile(text: string): ReadFile {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) return refused('it is larger than 64 KiB')
  try {
    const file: unknown = JSON.parse(text)
    if (isObject(file)) return { ok: true, file }
  } catch {
    return refused('it is not JSON')
  }
  return refused('it is not a JSON object')
}

function refused(reason: string): ReadFile {
  return { ok: false, reason }
}

/**
 * Narrows to the id of an ERC-8004 agent: a string of decimal digits of a uint256 without leading zeros. "0" is an agent;
 * a number, hex, a sign or anything above 2^256 - 1 gives `undefined`.
 */
export function parseAgentId(value: unknown): string | undefined {
  return typeof value === 'string' && parseUint256(value) !== undefined ? value : undefined
}

/** Turns a sentence into the end of another. */
function asClause(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '')
}
