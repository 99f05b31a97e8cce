import { listedNetwork } from '../../../api/queries.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { priceProblem, usdToAtomic } from '../../../format/typed-price.js'
import { sameAddress, shortHex } from '../../../format/untrusted-text.js'
import { type Level, warningLevel, warningText } from '../../../format/verdicts.js'
import './zod-without-eval.js'
import type { Validation } from '@arcus/protocol/answers/discovery'
import type { MerchantEndpoint, MerchantView } from '@arcus/protocol/answers/listings'
import type { ConsoleSettings } from '@arcus/protocol/answers/service'
import {
  describeIssue,
  type Listing,
  type ListingEndpoint,
  listingBody,
  merchantIdKind,
} from '@arcus/protocol/listing/listing'
import { callMethods, mcpTransports, parametersIn } from '@arcus/protocol/x402/calls'
import { z } from 'zod'

const text = z.string()

/** The 402 of an API, as the last check read it. */
const found = z.object({
  /** Atomic units of `asset`. */
  price: text,
  asset: text,
  symbol: text,
  payTo: text,
  network: text,
  /** Codes of the check. */
  warnings: z.array(text).readonly(),
  /** Unix seconds. */
  checkedAt: z.number(),
})

export type FoundTerms = z.infer<typeof found>

/** One API in the form: texts as typed, valid or not. */
const endpointValues = z.object({
  url: text,
  method: z.enum(callMethods),
  /** Set for a tool of an MCP server. */
  toolName: text,
  title: text,
  description: text,
  pricing: z.enum(['fixed', 'metered']),
  /** Dollars or euros as typed. */
  price: text,
  /** Address of the token of the price; empty for the default one. */
  asset: text,
  /** Separated by commas. */
  tags: text,
  /** JSON text of the query parameters or the body; empty for none. */
  example: text,
  /** JSON text; empty for none. */
  inputSchema: text,
  /** Not in the form, but kept by a save: the rest of the example, the transport of a tool, the output. */
  kept: z.object({
    example: z.record(text, z.unknown()),
    transport: z.enum(mcpTransports).optional(),
    output: z.object({ type: text, example: z.unknown().optional() }).nullable(),
  }),
  /** The 402 as it was read last; `null` before that, and once another URL or method is typed. */
  found: found.nullable(),
})

export type EndpointValues = z.infer<typeof endpointValues>

/** The form of a listing. */
export const formValues = z.object({
  id: text,
  name: text,
  description: text,
  payTo: text,
  endpoints: z.array(endpointValues),
})

export type FormValues = z.infer<typeof formValues>

/** The id and the listing that the wallet signs. */
export interface Ready {
  id: string
  listing: Listing
}

const idProblems: Partial<Record<ReturnType<typeof merchantIdKind>, string>> = {
  malformed:
    'Use 3 to 40 lower-case letters, digits and hyphens. A hyphen cannot be first or last.',
  reserved: 'Arcus keeps this id for itself. Choose another.',
}

/**
 * Returns the schema of the form, which composes the listing to sign and says what is wrong with each field. The rules are
 * those of the service, which checks them again.
 */
export function formSchema(tokens: readonly ListedToken[] = []) {
  return formValues.transform((values, context): Ready => {
    const refuse = (path: PropertyKey[], message: string) =>
      context.addIssue({ code: 'custom', path, message })
    const id = values.id.trim()
    const idProblem = idProblems[merchantIdKind(id)]
    // The id comes from the name.
    if (values.name.trim() === '') refuse(['name'], 'Give the name under which you sell.')
    else if (idProblem !== undefined) refuse(['id'], idProblem)
    const listing: Listing = {
      name: values.name.trim(),
      description: values.description.trim(),
      payTo: values.payTo.trim() as Listing['payTo'],
      endpoints: values.endpoints.map((endpoint, index) =>
        composeEndpoint(endpoint, tokens, (field, message) =>
          refuse(['endpoints', index, field], message),
        ),
      ),
    }
    for (const { path, message } of listingBody.safeParse(listing, { error: describeIssue }).error
      ?.issues ?? []) {
      // An issue may lie deeper than the field that shows it: `endpoints[0].tags[3]`.
      refuse(path.slice(0, path[0] === 'endpoints' ? 3 : 1), `It ${message}.`)
    }
    return { id, listing }
  })
}

function composeEndpoint(
  values: EndpointValues,
  tokens: readonly ListedToken[],
  refuse: (field: keyof EndpointValues, message: string) => void,
): ListingEndpoint {
  const { currency } = tokenOf(values, tokens)
  const badUrl = hostProblem(values.url)
  if (badUrl !== undefined) refuse('url', badUrl)
  if (values.title.trim() === '') refuse('title', 'Say in a few words what a call returns.')
  const badPrice = priceProblem(values.price, currency)
  if (badPrice !== undefined) refuse('price', badPrice)
  const json = (field: 'example' | 'inputSchema') => {
    try {
      return values[field].trim() === '' ? undefined : JSON.parse(values[field])
    } catch (error) {
      refuse(field, `This is not JSON: ${(error as Error).message}`)
    }
  }
  const { method, toolName, kept } = values
  const { transport } = kept
  const tool = { toolName: toolName.trim(), ...(transport === undefined ? {} : { transport }) }
  const endpoint = {
    url: values.url.trim(),
    method,
    ...(method === 'MCP' ? tool : {}),
    title: values.title.trim(),
    description: values.description.trim(),
    pricing: values.pricing,
    price: usdToAtomic(values.price) ?? '0',
    // The signed text names the money in words too.
    ...(values.asset === '' ? {} : { asset: values.asset, currency }),
    tags: [...new Set(values.tags.split(',').map((tag) => tag.trim()))].filter(Boolean),
    example: { ...kept.example, [parametersIn(method)]: json('example') ?? {} },
    inputSchema: json('inputSchema') ?? null,
    output: kept.output,
  }
  // The schema of a listing says what is wrong with it.
  return endpoint as ListingEndpoint
}

const THIS_MACHINE = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]|$)/i

/** Adds the scheme that people leave out: http for this machine, https for all others. */
export function withScheme(typed: string): string {
  const url = typed.trim()
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url
  return `${THIS_MACHINE.test(url) ? 'http' : 'https'}://${url}`
}

/** Says that the host of a URL is mistyped: it has no dot, and is neither an address nor this machine. */
export function hostProblem(typed: string): string | undefined {
  const url = withScheme(typed)
  if (!URL.canParse(url)) return undefined
  const { hostname } = new URL(url)
  if (/[.:]/.test(hostname) || hostname === 'localhost') return undefined
  return `“${hostname}” is not the name of a host on the internet. It has no dot, as api.example.com does.`
}

export const emptyForm: FormValues = { id: '', name: '', description: '', payTo: '', endpoints: [] }

export function emptyEndpoint(): EndpointValues {
  return {
    url: '',
    method: 'GET',
    toolName: '',
    title: '',
    description: '',
    pricing: 'fixed',
    price: '',
    asset: '',
    tags: '',
    example: '',
    inputSchema: '',
    kept: { example: {}, output: { type: 'json' } },
    found: null,
  }
}

/** Returns the present listing as the form shows it. */
export function formOf(merchant: MerchantView): FormValues {
  const { id, name, description, payTo } = merchant
  const endpoints = merchant.endpoints.map((endpoint) => ({
    url: endpoint.url,
    method: endpoint.method,
    toolName: endpoint.toolName ?? '',
    title: endpoint.title,
    description: endpoint.description,
    pricing: endpoint.pricing,
    price: atomicToUsd(endpoint.price),
    asset: endpoint.asset,
    tags: endpoint.tags.join(', '),
    example: jsonText(endpoint.example[parametersIn(endpoint.method)]),
    inputSchema: jsonText(endpoint.inputSchema),
    kept: {
      example: besideParameters(endpoint),
      transport: endpoint.transport,
      output: endpoint.output,
    },
    found: null,
  }))
  return { id, name, description, payTo, endpoints }
}

/** Returns the example without the parameters, which the form shows. */
function besideParameters({
  method,
  example = {},
}: {
  method: EndpointValues['method']
  example?: MerchantEndpoint['example'] | undefined
}): EndpointValues['kept']['example'] {
  const { [parametersIn(method)]: _, ...beside } = example
  return beside
}

/** A check that found a 402 that can be listed. */
export type LiveValidation = Validation & { listing: NonNullable<Validation['listing']> }

/** Fills the empty fields of an API from its live 402, and replaces its price. Texts of the owner stay. */
export function fillEndpoint(values: EndpointValues, quote: LiveValidation): EndpointValues {
  const { listing: quoted, warnings, checkedAt } = quote
  const { price, asset, symbol, payTo, network } = quoted
  const isSameMethod = values.method === quoted.method
  const example = jsonText(quoted.example?.[parametersIn(quoted.method)])
  return {
    ...values,
    url: quoted.url,
    method: quoted.method,
    toolName: quoted.toolName ?? '',
    kept: isSameMethod ? values.kept : { ...values.kept, example: besideParameters(quoted) },
    pricing: quoted.pricing === 'metered' ? 'metered' : values.pricing,
    price: atomicToUsd(price),
    found: { price, asset, symbol, payTo, network, warnings, checkedAt },
    asset,
    title: values.title || (quoted.title ?? titleFromUrl(quoted.url)),
    description: values.description || (quoted.description ?? ''),
    tags: values.tags || (quoted.tags ?? []).join(', '),
    example: (isSameMethod && values.example) || example,
    inputSchema: values.inputSchema || jsonText(quoted.inputSchema),
  }
}

/** Returns what the last check of a listed API read; `null` unless it is as a listing should be. */
export function foundAtLast(
  { asset, state }: MerchantEndpoint,
  { payTo, network }: MerchantView,
): FoundTerms | null {
  const { livePrice, symbol, probe } = state
  if (livePrice === null || probe?.verdict !== 'live') return null
  const { warnings, checkedAt } = probe
  return { price: livePrice, asset, symbol, payTo, network, warnings, checkedAt }
}

export type ListedToken = Pick<
  ConsoleSettings['networks'][number]['asset'],
  'address' | 'symbol' | 'currency'
>

/** Returns the tokens in which prices may be listed, the default one first; none until the settings are there. */
export function listedTokens(settings: ConsoleSettings | undefined): readonly ListedToken[] {
  return listedNetwork(settings)?.assets ?? []
}

/** Returns the token of a price among those that may be listed; the default one where none is named. */
export function tokenOf({ asset }: { asset?: string | null }, tokens: readonly ListedToken[]) {
  const named = tokens.find(({ address }) => sameAddress(address, asset ?? ''))
  return named ?? tokens[0] ?? { address: '', symbol: 'USDC', currency: 'USD' }
}

/** Makes a title from the end of the path, for an API whose 402 has none. */
export function titleFromUrl(url: string): string {
  if (!URL.canParse(url)) return ''
  const { pathname, hostname } = new URL(url)
  const last = pathname.split('/').filter(Boolean).at(-1) ?? hostname
  const words = last
    .replace(/\.\w+$/, '')
    .replace(/[-_]+/g, ' ')
    .trim()
  return words.charAt(0).toUpperCase() + words.slice(1, 100)
}

/** Makes an id from a name: lower-case words with hyphens, 3 to 40 characters, or nothing. */
export function idFromName(name: string): string {
  const id = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '')
  return id.length >= 3 ? id : ''
}

/** Writes indented JSON; nothing for a missing or empty value. */
function jsonText(value: unknown): string {
  const isNothing =
    value === undefined ||
    value === null ||
    (typeof value === 'object' && Object.keys(value).length === 0)
  return isNothing ? '' : JSON.stringify(value, null, 2)
}

interface NoteText {
  level: Level
  text: string
}

/** Returns what an owner should know of an API before they sign: how it differs from its 402, and what the check found. */
export function notesOf(
  values: EndpointValues,
  found: FoundTerms | null,
  payTo: string,
): readonly NoteText[] {
  if (found === null) return []
  const notes: NoteText[] = []
  if (differsInPrice(values, found)) {
    const asks = exactAmount(atomicToUsd(found.price), found.symbol)
    notes.push({
      level: 'bad',
      text: `Your API asks for ${asks}. Buyers pay what it asks for, not what is listed.`,
    })
  }
  if (payTo.trim() !== '' && !sameAddress(payTo.trim(), found.payTo)) {
    const [asked, listed] = [shortHex(found.payTo), shortHex(payTo.trim())]
    notes.push({
      level: 'bad',
      text: `Your API asks to be paid at ${asked}, and the payout address below is ${listed}. It is refused unless both are the same.`,
    })
  }
  for (const code of found.warnings) {
    // The first is said above. The second concerns the listing as it was, and the owner may have written a schema since.
    if (code === 'price_drift') continue
    if (code === 'schema_missing' && values.inputSchema.trim() !== '') continue
    notes.push({ level: warningLevel(code), text: warningText(code) })
  }
  return notes
}

/** Returns whether the price in the form is another than that of the 402. */
export function differsInPrice(
  { price, asset }: EndpointValues,
  found: FoundTerms | null,
): boolean {
  if (found === null) return false
  const typed = usdToAtomic(price)
  const isOtherToken = asset !== '' && !sameAddress(asset, found.asset)
  return typed !== undefined && (typed !== found.price || isOtherToken)
}
