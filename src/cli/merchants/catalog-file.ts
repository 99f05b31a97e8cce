import type { Address } from 'viem'
import { z } from 'zod'
import { parseAgentId } from '../../directory/identity/registration-file.js'
import { readQuotedTerms } from '../../directory/probe/payment-required.js'
import {
  addressField,
  describeIssue,
  endpointBody,
  formatPath,
  jsonProblem,
  listingLimits as limits,
  merchantIdKind,
  text,
} from '../../listing-client/listing.js'
import type { ListingStore, QuotedRequirement } from '../../store/listings.js'
import { CHECKSUM_PROBLEM, hasWrongChecksum } from '../../x402/checksum.js'

/** The file that export writes and import reads. */
export const FILE_FORMAT = 'arcus-merchants'
export const FILE_VERSION = 1

type Saved = Parameters<ListingStore['saveByOperator']>

/** A merchant of a file, in the form in which the store takes it; when to look next is decided at the import. */
export interface FiledMerchant {
  merchant: Saved[0]
  endpoints: Omit<Saved[1][number], 'nextProbeAt'>[]
}

/** What a file must agree with besides its own form. */
export interface FileRules {
  /** Served networks with their stablecoins. */
  assets: ReadonlyMap<string, Address>
  /** What keeps somebody paid there from being official, in words that follow a colon. */
  officialProblem: (payTo: Address) => string | undefined
}

/** More than any merchant has: what was found in payments is bounded, and what owners list too. */
const MAX_ENDPOINTS = 1_000
const MAX_TOLD = 10
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

/** What owners write, under the same law, beside what only the operator says. */
const endpoint = z.looseObject({}).transform((members, context) => {
  const { isHosted, extras: extra, accepts: quoted, status, failures, probe, ...listed } = members
  const body = endpointBody.safeParse(listed, { error: describeIssue })
  const own = { isHosted, extras: extra, accepts: quoted, status, failures, probe }
  const rest = restOfEndpoint.safeParse(own, { error: describeIssue })
  for (const parsed of [body, rest]) {
    for (const { path, message } of parsed.error?.issues ?? []) {
      context.addIssue({ code: 'custom', path: [...path], message })
    }
  }
  if (!body.success || !rest.success) return z.NEVER
  return { ...body.data, ...rest.data }
})

/** What the last look found, in words and facts of ours. */
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
  isHosted: z.boolean().default(false),
  extras,
  accepts,
  status: z.enum(['live', 'unverified', 'failing']).default('unverified'),
  failures: z.int().nonnegative().default(0),
  probe: probe.nullable().default(null),
})

const merchant = z.strictObject({
  id: z.string().refine((id) => ['chosen', 'found'].includes(merchantIdKind(id)), {
    error: `must be 3 to ${limits.merchantId.maxChars} of a-z, 0-9 and inner hyphens, and no word of the service`,
  }),
  owner: addressField.nullable().default(null),
  name: text({ kind: 'one-line', ...limits.name }),
  description: text({ kind: 'multi-line', minChars: 0, ...limits.description }).default(''),
  network: z.string(),
  asset: addressField,
  payTo: addressField,
  // Files of before have neither; then what stands is kept.
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

export type ParsedFile =
  | { ok: true; merchants: FiledMerchant[] }
  /** One sentence each, the first few; `count` is all of them. */
  | { ok: false; problems: string[]; count: number }

/** Reads a whole file of merchants, or says all that is wrong with it. */
export function parseCatalogFile(content: string, rules: FileRules): ParsedFile {
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
    merchants: merchants.map(({ endpoints, ...rest }) => ({ merchant: rest, endpoints })),
  }
}

type Read = z.output<typeof merchant>

function repeatedIds(merchants: readonly Read[]): string[] {
  const seen = new Set<string>()
  return merchants.flatMap(({ id }, index) => {
    const isRepeated = seen.has(id)
    seen.add(id)
    return isRepeated ? [`merchants[${index}].id must not stand twice in a file: ${id}.`] : []
  })
}

const problemsOf =
  ({ assets, officialProblem }: FileRules) =>
  (read: Read, index: number): string[] => {
    const at = `merchants[${index}]`
    const asset = assets.get(read.network)
    const served = [...assets.keys()].join(' or ')
    const official = read.isOfficial ? officialProblem(read.payTo) : undefined
    const isFound = merchantIdKind(read.id) === 'found'
    return [
      ...(asset === undefined ? [`${at}.network must be ${served}, got "${read.network}".`] : []),
      ...(asset !== undefined && read.asset !== asset.toLowerCase()
        ? [`${at}.asset must be the stablecoin of ${read.network}, ${asset}.`]
        : []),
      ...(official === undefined ? [] : [`${at}.isOfficial must not be true: ${official}.`]),
      ...(isFound && read.owner === null && read.id !== `payto-${read.payTo}`
        ? [`${at}.id must be payto- and its payTo while nobody owns it.`]
        : []),
      ...repeatedEndpoints(read, at),
    ]
  }

function repeatedEndpoints({ endpoints }: Read, at: string): string[] {
  const seen = new Set<string>()
  return endpoints.flatMap(({ method, url }, index) => {
    const isRepeated = seen.has(`${method} ${url}`)
    seen.add(`${method} ${url}`)
    return isRepeated
      ? [`${at}.endpoints[${index}] must not be listed twice: ${method} ${url}.`]
      : []
  })
}

function wrong(problems: string[]): ParsedFile {
  return { ok: false, problems: problems.slice(0, MAX_TOLD), count: problems.length }
}
