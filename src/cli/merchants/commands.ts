import { addressField } from '@arcus/protocol/listing/listing'
import { findUnwelcome, normalizeText } from '@arcus/protocol/listing/text'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { callMethods, isOneOf, targetKey } from '@arcus/protocol/x402/calls'
import { moneyOf } from '@arcus/protocol/x402/currencies'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import type { Merchant, StoredEndpoint } from '../../directory/store/listings.js'
import { isUnclaimed } from '../../directory/store/ownership.js'
import type { Block } from '../../facilitator/journal/blocks.js'
import { CommandError, UsageError } from '../command-line.js'
import {
  everyMerchant,
  getMerchant,
  type OperatorStores,
  officialProblem,
  record,
} from './operator-stores.js'
import { answering, type Subcommand, writing } from './subcommands.js'

/** What `arcus merchants` does. */
export const merchantCommands: Record<string, Subcommand> = {
  list: writing(0, listMerchants),
  show: answering(1, (stores, [id = '']) => showMerchant(stores, id)),
  official: answering(2, (stores, [id = '', state]) =>
    markOfficial(stores, id, parseSwitch(state)),
  ),
  partner: answering(2, (stores, [id = '', state]) => markPartner(stores, id, parseSwitch(state))),
  hosted: {
    ...answering(3, (stores, [id = '', url = '', ...rest]) => {
      const isHosted = parseSwitch(rest.at(-1))
      const method = rest.length > 1 ? rest[0]?.toUpperCase() : undefined
      return markHosted(stores, { id, url, method, isHosted })
    }),
    max: 4,
  },
  hide: answering(1, (stores, [id = ''], { reason }) => hide(stores, id, reason), ['reason']),
  unhide: answering(1, (stores, [id = '']) => unhide(stores, id)),
  block: answering(
    2,
    (stores, [role, address], { reason = '' }) =>
      addBlock(stores, parseBlockTarget(role, address), reason),
    ['reason'],
  ),
  unblock: answering(2, (stores, [role, address]) =>
    removeBlock(stores, parseBlockTarget(role, address)),
  ),
  blocks: writing(0, listBlocks),
  log: writing(0, (stores, _, { limit, json }) => listDecisions(stores, limit, json), [
    'limit',
    'json',
  ]),
}

/** Yields one line for each merchant, then their number. */
export async function* listMerchants(stores: OperatorStores): AsyncGenerator<string> {
  let count = 0
  for await (const { merchant, endpointCount } of everyMerchant(stores)) {
    count++
    const endpoints = `${endpointCount} ${endpointCount === 1 ? 'endpoint' : 'endpoints'}`
    const columns = [merchant.id, endpoints, ...marksOf(merchant), merchant.name]
    yield columns.join('  ')
  }
  yield `${count} ${count === 1 ? 'merchant' : 'merchants'}`
}

/** Returns everything that is stored about a merchant and its endpoints. */
export async function showMerchant(stores: OperatorStores, id: string): Promise<string> {
  const merchant = await getMerchant(stores, id)
  const endpoints = await stores.listings.endpointsOf(id)
  const { identity } = merchant
  const facts = [
    ['name', merchant.name],
    ['marks', marksOf(merchant).join(', ') || 'none'],
    ['owner', merchant.owner ?? (isUnclaimed(merchant) ? 'nobody yet' : 'the operator')],
    ['payTo', merchant.payTo],
    ['network', merchant.network],
    ['asset', merchant.asset],
    ['revision', String(merchant.revision)],
    ['agent', merchant.agentId ?? 'none'],
    ['agent checks', identity === null ? 'none' : checksOf(identity.checks)],
    ['created', dateOf(merchant.createdAt)],
    ['updated', dateOf(merchant.updatedAt)],
  ]
  const lines = facts.map(([name, value]) => `  ${name?.padEnd(14)}${value}`)
  return [merchant.id, ...lines, '', ...endpoints.flatMap(describeEndpoint)].join('\n')
}

function describeEndpoint(endpoint: StoredEndpoint): string[] {
  const { pricing, price, status, probe, nextProbeAt, isHosted } = endpoint
  const ceiling = pricing === 'metered' ? 'up to ' : ''
  const hosted = isHosted ? ', hosted by Arcus' : ''
  const seen = probe === null ? 'never probed' : `${probe.verdict} on ${dateOf(probe.checkedAt)}`
  const next = nextProbeAt === null ? '' : `, next probe ${dateOf(nextProbeAt)}`
  return [
    `  ${targetKey(endpoint).trim()}`,
    `    ${endpoint.title}: ${ceiling}${formatAtomic(price)} ${moneyOf(endpoint.symbol)}, ${status}${hosted} (${seen}${next})`,
  ]
}

function marksOf(merchant: Merchant): string[] {
  const { isOfficial, isPartner, hiddenReason, deletedAt } = merchant
  return [
    ...(deletedAt === null ? [] : ['deleted']),
    ...(isUnclaimed(merchant) ? ['unclaimed'] : []),
    ...(isOfficial ? ['official'] : []),
    ...(isPartner ? ['partner'] : []),
    ...(hiddenReason === null ? [] : [`hidden: ${JSON.stringify(hiddenReason)}`]),
  ]
}

function checksOf(checks: NonNullable<Merchant['identity']>['checks']): string {
  return Object.entries(checks)
    .map(([name, { passed }]) => `${name} ${passed ? 'passed' : 'failed'}`)
    .join(', ')
}

function dateOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

const MAX_REASON_CHARS = 200

/** Reads `on` or `off`. Throws a `UsageError`. */
function parseSwitch(state: string | undefined): boolean {
  if (state === 'on') return true
  if (state === 'off') return false
  throw new UsageError(`Say on or off, got ${JSON.stringify(state)}.`)
}

function onOrOff(isOn: boolean): string {
  return isOn ? 'on' : 'off'
}

/** Marks a merchant as the operator's own, whose revenue goes to the buyback wallet. */
export async function markOfficial(
  stores: OperatorStores,
  id: string,
  isOfficial: boolean,
): Promise<string> {
  const { payTo } = await getMerchant(stores, id)
  const problem = isOfficial ? officialProblem(payTo, stores.config.buybackAddress) : undefined
  if (problem !== undefined) throw new CommandError(`${id} cannot be official: ${problem}.`)
  await record(stores, 'official', id, onOrOff(isOfficial))
  await setFlags(stores, id, { isOfficial })
  return `${id} is ${isOfficial ? '' : 'not '}official`
}

export async function markPartner(
  stores: OperatorStores,
  id: string,
  isPartner: boolean,
): Promise<string> {
  await getMerchant(stores, id)
  await record(stores, 'partner', id, onOrOff(isPartner))
  await setFlags(stores, id, { isPartner })
  return `${id} is ${isPartner ? '' : 'not '}a partner`
}

/** Removes a merchant from every public list. The reason is public. */
export async function hide(
  stores: OperatorStores,
  id: string,
  reason: string | undefined,
): Promise<string> {
  const hiddenReason = parseReason(reason)
  await getMerchant(stores, id)
  await record(stores, 'hide', id, hiddenReason)
  await setFlags(stores, id, { hiddenReason })
  return `${id} is hidden: ${hiddenReason}`
}

export async function unhide(stores: OperatorStores, id: string): Promise<string> {
  const { hiddenReason } = await getMerchant(stores, id)
  if (hiddenReason === null) return `${id} was not hidden`
  await record(stores, 'unhide', id)
  await setFlags(stores, id, { hiddenReason: null })
  return `${id} is listed again`
}

/** Marks an endpoint that the operator hosts. Without a method, the URL must be listed with one method only. */
export async function markHosted(
  stores: OperatorStores,
  target: { id: string; url: string; method: string | undefined; isHosted: boolean },
): Promise<string> {
  const { id, isHosted } = target
  const endpoint = await findEndpoint(stores, target)
  const { method, url } = endpoint
  await record(stores, 'hosted', id, `${method} ${url} ${onOrOff(isHosted)}`)
  await stores.listings.setHosted(endpoint.id, isHosted, stores.now())
  return `${method} ${url} of ${id} is ${isHosted ? '' : 'not '}hosted by Arcus`
}

/** The operator sells by HTTP only. */
const hostedMethods = callMethods.filter((it) => it !== 'MCP')

async function findEndpoint(
  stores: OperatorStores,
  { id, url, method }: { id: string; url: string; method: string | undefined },
) {
  if (method !== undefined && !isOneOf(hostedMethods, method)) {
    const known = hostedMethods.join(', ')
    throw new UsageError(`METHOD must be one of ${known}, got ${JSON.stringify(method)}.`)
  }
  const href = parseUrl(url)?.href
  if (href === undefined) throw new UsageError(`URL cannot be read, got ${JSON.stringify(url)}.`)
  await getMerchant(stores, id)
  const found = (await stores.listings.endpointsOf(id)).filter(
    (endpoint) => endpoint.url === href && (method === undefined || endpoint.method === method),
  )
  const [endpoint] = found
  if (endpoint === undefined) {
    throw new CommandError(
      `${id} lists no endpoint ${method ?? ''}${method ? ' ' : ''}${href}; show ${id} lists them.`,
    )
  }
  if (found.length > 1)
    throw new CommandError(`${id} lists ${href} with several methods: name the method.`)
  return endpoint
}

async function setFlags(
  stores: OperatorStores,
  id: string,
  flags: Partial<Pick<Merchant, 'isOfficial' | 'isPartner' | 'hiddenReason'>>,
): Promise<void> {
  const isThere = await stores.listings.setFlags(id, flags, stores.now())
  if (!isThere)
    throw new CommandError(`Merchant ${JSON.stringify(id)} was deleted in the meantime.`)
}

/** Reads a reason that the public will see. Throws a `UsageError`. */
function parseReason(reason: string | undefined): string {
  const kept = normalizeText(reason ?? '')
  if (kept === '')
    throw new UsageError('Give the reason with --reason "…": the public will read it.')
  const character = findUnwelcome(kept, 'one-line')
  if (character !== undefined) {
    throw new UsageError(`--reason must not contain the character ${character}.`)
  }
  if (kept.length > MAX_REASON_CHARS) {
    throw new UsageError(`--reason must be at most ${MAX_REASON_CHARS} characters.`)
  }
  return kept
}

/** The address that a block is about, as payer or as recipient. */
type BlockTarget = Pick<Block, 'role' | 'address'>

/** Reads `payer|payTo ADDRESS`. Throws a `UsageError`. */
function parseBlockTarget(role: string | undefined, address: string | undefined): BlockTarget {
  if (role !== 'payer' && role !== 'payTo') {
    throw new UsageError(`Name payer or payTo, got ${JSON.stringify(role)}.`)
  }
  const parsed = addressField.safeParse(address ?? '')
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new UsageError(`ADDRESS ${issue?.message}, got ${JSON.stringify(address)}.`)
  }
  return { role, address: parsed.data }
}

/** Blocks an address. A running service applies it within two seconds. Resolves to a sentence about the result. */
async function addBlock(
  stores: OperatorStores,
  { role, address }: BlockTarget,
  reason: string,
): Promise<string> {
  await record(stores, 'block', `${role} ${address}`, reason)
  await stores.blocks.addBlock({ role, address, reason, createdAt: Date.now() })
  return `${role} ${address} is blocked`
}

/** Lifts a block. Resolves to a sentence about the result. */
async function removeBlock(
  stores: OperatorStores,
  { role, address }: BlockTarget,
): Promise<string> {
  await record(stores, 'unblock', `${role} ${address}`)
  const wasBlocked = await stores.blocks.removeBlock(role, address)
  return `${role} ${address} ${wasBlocked ? 'is no longer blocked' : 'was not blocked'}`
}

/** Yields one line for each blocked address, then their number. */
async function* listBlocks({ blocks }: OperatorStores): AsyncGenerator<string> {
  const blocked = await blocks.listBlocks()
  for (const { role, address, reason } of blocked) yield `${role} ${address} ${reason}`
  yield `${blocked.length} blocked`
}

const MAX_LISTED_DECISIONS = 1_000_000

/** Yields the newest decisions of the audit trail, oldest first, one line or JSON object each. */
async function* listDecisions(
  { audit }: OperatorStores,
  limit = '50',
  isJson = false,
): AsyncGenerator<string> {
  const count = /^\d{1,7}$/.test(limit) ? Number(limit) : 0
  if (count < 1 || count > MAX_LISTED_DECISIONS) {
    throw new UsageError(`--limit wants a number from 1 to ${MAX_LISTED_DECISIONS}.`)
  }
  for (const { at, ...entry } of await audit.list(count)) {
    const time = new Date(at).toISOString()
    if (isJson) yield JSON.stringify({ at: time, ...entry })
    else yield [time, entry.actor, entry.action, entry.subject, entry.details].join('  ').trim()
  }
}
