import { findUnwelcome, normalizeText } from '../../listing-client/text.js'
import type { Merchant } from '../../store/listings.js'
import { parseUrl } from '../../x402/parse-url.js'
import { UsageError } from '../arguments.js'
import { type Desk, getMerchant } from './desk.js'
import { Refusal } from './refusal.js'

const MAX_REASON_CHARS = 200

/** Reads `on` or `off`. Throws a `UsageError`. */
export function parseSwitch(word: string | undefined): boolean {
  if (word === 'on') return true
  if (word === 'off') return false
  throw new UsageError(`Say on or off, got ${JSON.stringify(word)}.`)
}

/** Marks a merchant as the operator's own, whose revenue goes to the buyback wallet. */
export async function markOfficial(desk: Desk, id: string, isOfficial: boolean): Promise<string> {
  const { payTo } = await getMerchant(desk, id)
  const problem = isOfficial ? officialProblem(payTo, desk.config.buybackAddress) : undefined
  if (problem !== undefined) throw new Refusal(`${id} cannot be official: ${problem}.`)
  await setFlags(desk, id, { isOfficial })
  return `${id} is ${isOfficial ? '' : 'not '}official`
}

/** Why somebody paid at an address is not official; `undefined` when he may be. */
export function officialProblem(payTo: string, buyback: string | undefined): string | undefined {
  if (buyback === undefined) return 'BUYBACK_ADDRESS is not set, and official merchants pay to it'
  if (payTo.toLowerCase() === buyback.toLowerCase()) return undefined
  return `its payTo is ${payTo}, and BUYBACK_ADDRESS is ${buyback}`
}

export async function markPartner(desk: Desk, id: string, isPartner: boolean): Promise<string> {
  await getMerchant(desk, id)
  await setFlags(desk, id, { isPartner })
  return `${id} is ${isPartner ? '' : 'not '}a partner`
}

/** Takes a merchant out of every public list. The reason is for the public too. */
export async function hide(desk: Desk, id: string, reason: string | undefined): Promise<string> {
  const hiddenReason = parseReason(reason)
  await getMerchant(desk, id)
  await setFlags(desk, id, { hiddenReason })
  return `${id} is hidden: ${hiddenReason}`
}

export async function unhide(desk: Desk, id: string): Promise<string> {
  const { hiddenReason } = await getMerchant(desk, id)
  if (hiddenReason === null) return `${id} was not hidden`
  await setFlags(desk, id, { hiddenReason: null })
  return `${id} is listed again`
}

/** Says which endpoint the operator himself hosts. Without a method the URL must be listed with one only. */
export async function markHosted(
  desk: Desk,
  target: { id: string; url: string; method: string | undefined; isHosted: boolean },
): Promise<string> {
  const { id, isHosted } = target
  const endpoint = await findEndpoint(desk, target)
  await desk.store.setHosted(endpoint.id, isHosted, desk.now())
  return `${endpoint.method} ${endpoint.url} of ${id} is ${isHosted ? '' : 'not '}hosted by Arcus`
}

async function findEndpoint(
  desk: Desk,
  { id, url, method }: { id: string; url: string; method: string | undefined },
) {
  if (method !== undefined && method !== 'GET' && method !== 'POST') {
    throw new UsageError(`METHOD must be GET or POST, got ${JSON.stringify(method)}.`)
  }
  const href = parseUrl(url)?.href
  if (href === undefined) throw new UsageError(`URL cannot be read, got ${JSON.stringify(url)}.`)
  await getMerchant(desk, id)
  const found = (await desk.store.endpointsOf(id)).filter(
    (endpoint) => endpoint.url === href && (method === undefined || endpoint.method === method),
  )
  const [endpoint] = found
  if (endpoint === undefined) {
    throw new Refusal(
      `${id} lists no endpoint ${method ?? ''}${method ? ' ' : ''}${href}; show ${id} lists them.`,
    )
  }
  if (found.length > 1) throw new Refusal(`${id} lists ${href} with GET and with POST: say which.`)
  return endpoint
}

async function setFlags(
  desk: Desk,
  id: string,
  flags: Partial<Pick<Merchant, 'isOfficial' | 'isPartner' | 'hiddenReason'>>,
): Promise<void> {
  const isThere = await desk.store.setFlags(id, flags, desk.now())
  if (!isThere) throw new Refusal(`Merchant ${JSON.stringify(id)} was deleted meanwhile.`)
}

/** Reads words that the public will see. Throws a `UsageError`. */
export function parseReason(reason: string | undefined): string {
  const kept = normalizeText(reason ?? '')
  if (kept === '') throw new UsageError('Say why with --reason "…": the public will read it.')
  const character = findUnwelcome(kept, 'one-line')
  if (character !== undefined) {
    throw new UsageError(`--reason must not contain the character ${character}.`)
  }
  if (kept.length > MAX_REASON_CHARS) {
    throw new UsageError(`--reason must be at most ${MAX_REASON_CHARS} characters.`)
  }
  return kept
}
