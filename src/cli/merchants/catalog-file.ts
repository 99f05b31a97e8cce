import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import {
  addressField,
  describeIssue,
  endpointBody,
  formatPath,
  jsonProblem,
  listingLimits as limits,
  merchantIdKind,
  text,
} from 'arcus-client/listing'
import { type Address, getAddress } from 'viem'
import { z } from 'zod'
import { parseAgentId } from '../../directory/identity/registration-file.js'
import { readQuotedTerms } from '../../directory/probe/payment-required.js'
import { HOSTED_MERCHANT } from '../../hosted/listing.js'
import type {
  Endpoint,
  EndpointHealth,
  ListingStore,
  Merchant,
  QuotedRequirement,
} from '../../store/listings.js'
import { CHECKSUM_PROBLEM, hasWrongChecksum } from '../../x402/address.js'
import { targetKey } from '../../x402/calls.js'
import { circleTokens, currencyOf, findToken, moneyOf } from '../../x402/currencies.js'
import { CommandError } from '../operator-command.js'
import { everyMerchant, type OperatorStores, officialProblem, record } from './operator-stores.js'

interface ImportOptions {
  /** Checks everything and writes nothing. */
  isDryRun: boolean
  /** Replaces merchants even where an owner signed the stored listing. */
  replaces: boolean
}

/** JavaScript cannot hold a much longer text. */
const MAX_FILE_BYTES = 500_000_000
/** Merchants that are written in one commit. */
const CHUNK = 200

/** Reads a file, checks it as a whole, then stores its merchants. Resolves to a sentence about the result. */
export async function importMerchants(
  stores: OperatorStores,
  path: string,
  { isDryRun, replaces }: ImportOptions,
): Promise<string> {
  const filed = readFiled(stores, path, await readText(path))
  const { added, replaced, signed, emptied } = await compare(stores, filed)
  if (emptied.length > 0) {
    throw new CommandError(
      `The file has no endpoints for ${named(emptied)}, which would remove the stored ones: leave the merchant out, or hide it. Nothing was written.`,
    )
  }
  if (signed.length > 0 && !replaces) {
    throw new CommandError(
      `The owners of ${named(signed)} signed the stored listings: leave them out, or use --replace. Nothing was written.`,
    )
  }
  if (!isDryRun) {
    await record(stores, 'import', path, `${added} added, ${replaced} replaced`)
    await save(stores, filed)
  }
  const would = isDryRun ? 'would be ' : ''
  return `${added} ${would}added, ${replaced} ${would}replaced; every endpoint ${isDryRun ? 'would be' : 'is'} probed again`
}

function named(ids: readonly string[]): string {
  const rest = ids.length > 5 ? ` and ${ids.length - 5} more` : ''
  return `${ids.slice(0, 5).join(', ')}${rest}`
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES) throw new Error(`it has ${size} bytes, ${MAX_FILE_BYTES} are read`)
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${(error as Error).message}.`)
  }
}

function readFiled({ config }: OperatorStores, path: string, content: string): FiledMerchant[] {
  const parsed = parseMerchants(content, {
    assets: new Map(config.networks.map(({ network, assets }) => [network, assets])),
    officialProblem: (payTo) => officialProblem(payTo, config.buybackAddress),
  })
  if (parsed.ok) return parsed.merchants
  const { problems, count } = parsed
  const rest = count > problems.length ? `\n  and ${count - problems.length} more` : ''
  const lines = problems.map((problem) => `\n  ${problem}`).join('')
  throw new CommandError(`${path} cannot be imported, and nothing was written:${lines}${rest}`)
}

async function compare({ listings }: OperatorStores, filed: readonly FiledMerchant[]) {
  const signed: string[] = []
  const emptied: string[] = []
  let replaced = 0
  for (const { merchant, endpoints } of filed) {
    const present = await listings.findMerchant(merchant.id)
    if (present === undefined) continue
    replaced++
    if (present.revision > 0) signed.push(merchant.id)
    const isEmptied = endpoints.length === 0 && (await listings.endpointsOf(merchant.id)).length > 0
    if (isEmptied) emptied.push(merchant.id)
  }
  return { added: filed.length - replaced, replaced, signed, emptied }
}

async function save(
  { listings, now }: OperatorStores,
  filed: readonly FiledMerchant[],
): Promise<void> {
  const at = now()
  for (let start = 0; start < filed.length; start += CHUNK) {
    await Promise.all(
      filed.slice(start, start + CHUNK).map(({ merchant, endpoints }) => {
        const drafts = endpoints.map((endpoint) => ({
          ...endpoint,
          ...healthOf(endpoint, merchant, at),
        }))
        return listings.saveByOperator(merchant, drafts, at)
      }),
    )
  }
}

/** Returns the state of an endpoint as the file states it, which is shown until the service has probed it, at once. */
function healthOf(
  { accepts, extras, price, asset, status, failures, probe }: FiledMerchant['endpoints'][number],
  { network, payTo }: FiledMerchant['merchant'],
  now: number,
): EndpointHealth {
  const listed = {
    scheme: 'exact',
    network,
    amount: price.toString(),
    asset: getAddress(asset),
    payTo: getAddress(payTo),
    maxTimeoutSeconds: 300,
  }
  return {
    accepts: accepts.length > 0 ? accepts : [listed],
    extras,
    status,
    probe,
    failures,
    nextProbeAt: now,
  }
}

/** Endpoints that are read at once. */
const PAGE = 1_000

/**
 * Writes every merchant that is not deleted, and returns their number. Signed messages are left out, and so are hosted
 * endpoints, which each service lists itself. The merchants come in the order of their first endpoints, so that a catalog
 * made from the file has the same order.
 */
export async function exportMerchants(
  stores: OperatorStores,
  write: (piece: string) => Promise<unknown> | unknown,
): Promise<number> {
  const exportedAt = new Date(stores.now() * 1000).toISOString()
  const head = JSON.stringify({ format: FILE_FORMAT, version: FILE_VERSION, exportedAt })
  await write(`${head.slice(0, -1)},"merchants":[`)
  let count = 0
  for (const id of await readOrder(stores)) {
    const merchant = await stores.listings.findMerchant(id)
    if (merchant === undefined || merchant.deletedAt !== null || id === HOSTED_MERCHANT) continue
    const endpoints = await stores.listings.endpointsOf(id)
    await write(`${count === 0 ? '' : ','}\n${JSON.stringify(toFiled(merchant, endpoints))}`)
    count++
  }
  await write('\n]}\n')
  return count
}

/** Returns the ids of all merchants. Those without endpoints come last. */
async function readOrder(stores: OperatorStores): Promise<Iterable<string>> {
  const ids = new Set<string>()
  let page = await stores.listings.scanForIndex(0, PAGE)
  while (page.length > 0) {
    for (const { merchantId } of page) ids.add(merchantId)
    page = await stores.listings.scanForIndex(page.at(-1)?.id ?? 0, PAGE)
  }
  for await (const { merchant } of everyMerchant(stores)) ids.add(merchant.id)
  return ids
}

/** Writes the same into a file, which is complete or does not exist. */
export async function exportToFile(stores: OperatorStores, path: string): Promise<string> {
  const draft = `${path}.${process.pid}.part`
  const handle = await open(draft, 'w', 0o600).catch((error) => {
    throw new CommandError(`${path} cannot be written: ${(error as Error).message}.`)
  })
  try {
    const count = await exportMerchants(stores, (piece) => handle.write(piece))
    await handle.sync()
    await handle.close()
    await rename(draft, path)
    return `${count} ${count === 1 ? 'merchant' : 'merchants'} written to ${path}`
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(draft, { force: true })
    throw new CommandError(`${path} cannot be written: ${(error as Error).message}.`)
  }
}

/** Returns a merchant as the file has it; JSON leaves out what is undefined. */
function toFiled(merchant: Merchant, endpoints: Endpoint[]) {
  const { id, owner, name, description, network, asset, payTo } = merchant
  const { confirmation, agentId, isOfficial, isPartner, hiddenReason } = merchant
  const listing = { id, owner, name, description, network, asset, payTo, confirmation, agentId }
  const marks = { isOfficial, isPartner, hiddenReason }
  return { ...listing, ...marks, endpoints: endpoints.map(toFiledEndpoint) }
}

function toFiledEndpoint(endpoint: Endpoint) {
  const { url, method, toolName, transport, title, description, pricing, tags } = endpoint
  const { price, asset, symbol, example, inputSchema, output } = endpoint
  const { isHosted, extras, accepts, status, failures, probe } = endpoint
  const called = { url, method, toolName, transport, title, description, pricing }
  const listed = { ...called, price: price.toString(), asset, symbol, tags }
  const health = { status, failures, probe }
  return { ...listed, example, inputSchema, output, isHosted, extras, accepts, ...health }
}

/** Format and version of the file that export writes and import reads. */
const FILE_FORMAT = 'arcus-merchants'
const FILE_VERSION = 1

type Saved = Parameters<ListingStore['saveByOperator']>

/** A merchant of a file, in the form that the store takes. The import sets the time of the next probe. */
interface FiledMerchant {
  merchant: Saved[0]
  endpoints: Omit<Saved[1][number], 'nextProbeAt'>[]
}

/** The settings that a file must agree with. */
interface FileRules {
  /** The tokens that are settled on each served network. */
  assets: ReadonlyMap<string, readonly Address[]>
  /** Returns the reason why a merchant with this payTo cannot be official, to be put after a colon. */
  officialProblem: (payTo: Address) => string | undefined
}

/** More than any merchant has: owners' endpoints are limited, and so are those found in payments. */
const MAX_ENDPOINTS = 1_000
const MAX_PROBLEMS = 10
const extrasBounds = { maxBytes: 65_536, maxDepth: 32 }
const extraNames = ['mimeType', 'serviceName', 'iconUrl', 'extensions']

const extras = z
  .record(z.string(), z.unknown())
  .superRefine((members, context) => {
    const unknown = Object.keys(members).find((name) => !extraNames.includes(name))
    const problem =
      unknown === undefined
        ? jsonProblem(members, extrasBounds)
        : `must have no members but ${extraNames.join(', ')}`
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })
  .default({})

const accepts = z
  .array(
    z.unknown().transform((entry, context): QuotedRequirement => {
      const terms = readQuotedTerms(entry)
      if (terms === undefined) {
        context.addIssue({ code: 'custom', message: 'must be a payment requirement' })
        return z.NEVER
      }
      if (hasWrongChecksum(terms.payTo)) {
        context.addIssue({ code: 'custom', path: ['payTo'], message: CHECKSUM_PROBLEM })
      }
      return { ...terms }
    }),
  )
  .max(20, { error: 'must have at most 20 entries' })
  .default([])

/** An endpoint: the members that owners write, under the same rules, and those that only the operator sets. */
const endpoint = z.looseObject({}).transform((members, context) => {
  const {
    isHosted,
    extras: extra,
    accepts: quoted,
    status,
    failures,
    probe,
    symbol,
    ...listed
  } = members
  const body = endpointBody.safeParse(listed, { error: describeIssue })
  const own = { isHosted, extras: extra, accepts: quoted, status, failures, probe, symbol }
  const rest = restOfEndpoint.safeParse(own, { error: describeIssue })
  for (const parsed of [body, rest]) {
    for (const { path, message } of parsed.error?.issues ?? []) {
      context.addIssue({ code: 'custom', path: [...path], message })
    }
  }
  if (!body.success || !rest.success) return z.NEVER
  return { ...body.data, ...rest.data }
})

/** The result of the last probe. */
const probe = z
  .strictObject({
    verdict: z.string().max(64),
    message: text({ kind: 'one-line', minChars: 0, maxChars: 1_000 }),
    warnings: z.array(z.string().max(64)).max(10),
    seen: z.record(z.string().max(64), z.union([z.string().max(2_048), z.number(), z.null()])),
    checkedAt: z.int().nonnegative(),
  })
  .superRefine((record, context) => {
    const problem = jsonProblem(record, extrasBounds)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })

const restOfEndpoint = z.object({
  symbol: text({ kind: 'one-line', minChars: 1, maxChars: 20 }).optional(),
  isHosted: z.boolean().default(false),
  extras,
  accepts,
  status: z.enum(['live', 'unverified', 'failing']).default('unverified'),
  failures: z.int().nonnegative().default(0),
  probe: probe.nullable().default(null),
})

const merchant = z.strictObject({
  id: z.string().refine((id) => ['chosen', 'found'].includes(merchantIdKind(id)), {
    error: `must be 3 to ${limits.merchantId.maxChars} of a-z, 0-9 and inner hyphens, and no name that the service reserves`,
  }),
  owner: addressField.nullable().default(null),
  name: text({ kind: 'one-line', ...limits.name }),
  description: text({ kind: 'multi-line', minChars: 0, ...limits.description }).default(''),
  network: z.string(),
  asset: addressField,
  payTo: addressField,
  // Older files have neither member. Then the stored value is kept.
  confirmation: z.strictObject({ owner: addressField, payTo: addressField }).nullable().optional(),
  agentId: z
    .string()
    .refine((id) => parseAgentId(id) !== undefined, {
      error: 'must be the decimal digits of a uint256, or null',
    })
    .nullable()
    .optional(),
  isOfficial: z.boolean().default(false),
  isPartner: z.boolean().default(false),
  hiddenReason: text({ kind: 'one-line', minChars: 1, maxChars: 200 }).nullable().default(null),
  endpoints: z.array(endpoint).max(MAX_ENDPOINTS, {
    error: `must have at most ${MAX_ENDPOINTS} entries`,
  }),
})

const file = z.strictObject({
  format: z.literal(FILE_FORMAT),
  version: z.literal(FILE_VERSION),
  exportedAt: z.string().optional(),
  merchants: z.array(merchant),
})

type ParsedFile =
  | { ok: true; merchants: FiledMerchant[] }
  /** The first problems, one sentence each; `count` is the number of all. */
  | { ok: false; problems: string[]; count: number }

/** Reads a whole file of merchants, or returns its problems. */
function parseMerchants(content: string, rules: FileRules): ParsedFile {
  let json: unknown
  try {
    json = JSON.parse(content)
  } catch (error) {
    return { ok: false, problems: [`It is not JSON: ${(error as Error).message}.`], count: 1 }
  }
  const parsed = file.safeParse(json, { error: describeIssue })
  if (!parsed.success) {
    const { issues } = parsed.error
    return wrong(issues.map(({ path, message }) => `${formatPath(path) || 'The file'} ${message}.`))
  }
  const { merchants } = parsed.data
  const problems = [...repeatedIds(merchants), ...merchants.flatMap(problemsOf(rules))]
  if (problems.length > 0) return wrong(problems)
  return {
    ok: true,
    merchants: merchants.map(({ endpoints, ...rest }) => ({
      merchant: rest,
      endpoints: endpoints.map(({ currency: _, ...endpoint }) => ({
        ...endpoint,
        ...tokenOf(endpoint, rest),
      })),
    })),
  }
}

type Read = z.output<typeof merchant>

function repeatedIds(merchants: readonly Read[]): string[] {
  const seen = new Set<string>()
  return merchants.flatMap(({ id }, index) => {
    const isRepeated = seen.has(id)
    seen.add(id)
    return isRepeated ? [`merchants[${index}].id must not appear twice in a file: ${id}.`] : []
  })
}

const problemsOf =
  ({ assets, officialProblem }: FileRules) =>
  (read: Read, index: number): string[] => {
    const at = `merchants[${index}]`
    const taken = assets.get(read.network)?.map((asset) => asset.toLowerCase())
    const served = [...assets.keys()].join(' or ')
    const official = read.isOfficial ? officialProblem(read.payTo) : undefined
    const isFound = merchantIdKind(read.id) === 'found'
    return [
      ...(taken === undefined ? [`${at}.network must be ${served}, got "${read.network}".`] : []),
      ...(taken === undefined ? [] : tokenProblems(read, at, taken)),
      ...(official === undefined ? [] : [`${at}.isOfficial must not be true: ${official}.`]),
      ...(isFound && read.owner === null && read.id !== `payto-${read.payTo}`
        ? [`${at}.id must be payto- and its payTo while nobody owns it.`]
        : []),
      ...repeatedEndpoints(read, at),
    ]
  }

/** Returns the token of a price. Files from before prices named it are in the token of their merchant, and in dollars. */
function tokenOf(
  { asset, symbol }: Pick<Read['endpoints'][number], 'asset' | 'symbol'>,
  merchant: Pick<Read, 'asset'>,
): { asset: Address; symbol: string } {
  const address = asset ?? merchant.asset
  return { asset: address, symbol: symbol ?? circleSymbol(address) ?? 'USDC' }
}

function circleSymbol(address: Address): string | undefined {
  return findToken(Object.values(circleTokens).flat(), address)?.symbol
}

function tokenProblems(read: Read, at: string, taken: readonly string[]): string[] {
  const wrong = (path: string) =>
    `${path}.asset must be a stablecoin of ${read.network}: ${taken.join(' or ')}.`
  const ofEndpoints = read.endpoints.flatMap((endpoint, index) => {
    const path = `${at}.endpoints[${index}]`
    const { asset, symbol } = tokenOf(endpoint, read)
    if (!taken.includes(asset)) return [wrong(path)]
    const known = circleSymbol(asset)
    if (known === undefined && asset !== read.asset && endpoint.symbol === undefined) {
      return [`${path}.symbol is required for the asset ${asset}.`]
    }
    if (known !== undefined && symbol !== known) {
      return [`${path}.symbol must be ${known}, the symbol of ${asset}.`]
    }
    const { currency } = endpoint
    const isWrong = currency !== null && currency !== currencyOf(symbol)
    return isWrong ? [`${path}.currency must be that of ${symbol}: ${moneyOf(symbol)}.`] : []
  })
  return taken.includes(read.asset) ? ofEndpoints : [wrong(at), ...ofEndpoints]
}

function repeatedEndpoints({ endpoints }: Read, at: string): string[] {
  const seen = new Set<string>()
  return endpoints.flatMap((endpoint, index) => {
    const key = targetKey(endpoint)
    const isRepeated = seen.has(key)
    seen.add(key)
    return isRepeated ? [`${at}.endpoints[${index}] must not be listed twice: ${key.trim()}.`] : []
  })
}

function wrong(problems: string[]): ParsedFile {
  return { ok: false, problems: problems.slice(0, MAX_PROBLEMS), count: problems.length }
}
