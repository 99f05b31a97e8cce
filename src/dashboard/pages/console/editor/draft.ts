import type { Validation } from '../../../../api/discovery.js'
import type { MerchantEndpoint, MerchantView } from '../../../../api/listings.js'
import type { ConsoleSettings } from '../../../../api/service.js'
import { parametersIn } from '../../../../x402/calls.js'
import { atomicToUsd } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'

export type Method = MerchantEndpoint['method']

/** The 402 of an endpoint, as the last check read it. */
export interface Found {
  /** Atomic units of `asset`. */
  price: string
  asset: string
  symbol: string
  payTo: string
  network: string
  /** Codes of the check. */
  warnings: readonly string[]
  /** Unix seconds. */
  checkedAt: number
}

/** A check that found a 402 that can be listed. */
export type LiveValidation = Validation & { listing: NonNullable<Validation['listing']> }

/** An endpoint in the form: texts as typed, valid or not. */
export interface EndpointDraft {
  /** Identifies the endpoint in the list of the form. */
  key: string
  url: string
  method: Method
  /** Set for a tool of an MCP server. */
  toolName: string
  title: string
  description: string
  pricing: MerchantEndpoint['pricing']
  /** Dollars or euros as typed. */
  price: string
  /** Address of the token of the price; empty for the default one. */
  asset: string
  /** Separated by commas. */
  tags: string
  /** JSON text of the query parameters or the body; empty for none. */
  example: string
  /** JSON text; empty for none. */
  inputSchema: string
  /** Not in the form, but kept by a save: what stands beside the parameters, the transport of a tool, the output. */
  beside: Omit<MerchantEndpoint['example'], 'arguments'>
  transport?: MerchantEndpoint['transport']
  output: { type: string; example?: unknown } | null
  /** The 402 as it was read last; `null` before that, and once another URL or method is typed. */
  found: Found | null
}

export interface ListingDraft {
  id: string
  name: string
  description: string
  payTo: string
  endpoints: EndpointDraft[]
}

export function emptyEndpoint(): EndpointDraft {
  return {
    key: newKey(),
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
    beside: {},
    output: { type: 'json' },
    found: null,
  }
}

export function emptyDraft(): ListingDraft {
  return { id: '', name: '', description: '', payTo: '', endpoints: [] }
}

/** Returns the present listing as the form shows it. */
export function draftOf(merchant: MerchantView): ListingDraft {
  const { id, name, description, payTo } = merchant
  const endpoints = merchant.endpoints.map((endpoint) => ({
    key: newKey(),
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
    beside: besideParameters(endpoint),
    transport: endpoint.transport,
    inputSchema: jsonText(endpoint.inputSchema),
    output: endpoint.output,
    found: foundAtLast(endpoint, merchant),
  }))
  return { id, name, description, payTo, endpoints }
}

/** Returns the example without the parameters, which the form shows. */
function besideParameters({
  method,
  example = {},
}: {
  method: Method
  example?: MerchantEndpoint['example'] | undefined
}): EndpointDraft['beside'] {
  const { [parametersIn(method)]: _, ...beside } = example
  return beside
}

function foundBy({ listing, warnings, checkedAt }: LiveValidation): Found {
  const { price, asset, symbol, payTo, network } = listing
  return { price, asset, symbol, payTo, network, warnings, checkedAt }
}

/** Returns what the last probe of a listed endpoint read; `null` unless it is as a listing should be. */
function foundAtLast(endpoint: MerchantEndpoint, merchant: MerchantView): Found | null {
  const { livePrice, symbol, probe } = endpoint.state
  if (livePrice === null || probe?.verdict !== 'live') return null
  const { warnings, checkedAt } = probe
  const { payTo, network } = merchant
  return { price: livePrice, asset: endpoint.asset, symbol, payTo, network, warnings, checkedAt }
}

/** Fills the empty fields of an endpoint from its live 402, and replaces its price. Texts of the owner stay. */
export function fillEndpoint(draft: EndpointDraft, quote: LiveValidation): EndpointDraft {
  const quoted = quote.listing
  const isSameMethod = draft.method === quoted.method
  const example = jsonText(quoted.example?.[parametersIn(quoted.method)])
  return {
    ...draft,
    url: quoted.url,
    method: quoted.method,
    toolName: quoted.toolName ?? '',
    beside: isSameMethod ? draft.beside : besideParameters(quoted),
    pricing: quoted.pricing === 'metered' ? 'metered' : draft.pricing,
    price: atomicToUsd(quoted.price),
    found: foundBy(quote),
    asset: quoted.asset,
    title: draft.title || (quoted.title ?? titleFromUrl(quoted.url)),
    description: draft.description || (quoted.description ?? ''),
    tags: draft.tags || (quoted.tags ?? []).join(', '),
    example: (isSameMethod && draft.example) || example,
    inputSchema: draft.inputSchema || jsonText(quoted.inputSchema),
  }
}

export type ListedToken = Pick<
  ConsoleSettings['networks'][number]['asset'],
  'address' | 'symbol' | 'currency'
>

/** Returns the tokens in which prices may be listed, the default one first; none until the settings are there. */
export function listedTokens(settings: ConsoleSettings | undefined): readonly ListedToken[] {
  return settings?.networks.find(({ listed }) => listed)?.assets ?? []
}

/** Returns the token of a price among those that may be listed; the default one where none is named. */
export function tokenOf({ asset }: { asset?: string | null }, tokens: readonly ListedToken[]) {
  const named = tokens.find(({ address }) => sameAddress(address, asset ?? ''))
  return named ?? tokens[0] ?? { address: '', symbol: 'USDC', currency: 'USD' }
}

/** Makes a title from the end of the path, for an endpoint whose 402 has none. */
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

/** Tells whether the form holds nothing worth keeping. */
export function isBlank(draft: ListingDraft): boolean {
  return draft.name === '' && draft.description === '' && draft.endpoints.length === 0
}

/** Writes indented JSON; nothing for a missing or empty value. */
export function jsonText(value: unknown): string {
  const isNothing =
    value === undefined ||
    value === null ||
    (typeof value === 'object' && Object.keys(value).length === 0)
  return isNothing ? '' : JSON.stringify(value, null, 2)
}

function newKey(): string {
  return Math.random().toString(36).slice(2)
}

/** The part of the browser's `Storage` that drafts need. */
export interface TextStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

export interface KeptDraft {
  draft: ListingDraft
  /** The revision of the listing that the draft started from; 0 for a new one. */
  revision: number
  /** Unix milliseconds. */
  savedAt: number
}

const PREFIX = 'arcus:draft:'

/** Keeps drafts on this device, one for each listing and one for a new one. Never throws: a full or forbidden storage keeps nothing. */
export function createDraftStorage(storage: TextStorage | undefined) {
  return {
    read(name: string): KeptDraft | undefined {
      try {
        return parse(storage?.getItem(PREFIX + name) ?? null)
      } catch {
        return undefined
      }
    },
    /** Returns false if the draft could not be kept. */
    write(name: string, kept: KeptDraft): boolean {
      try {
        storage?.setItem(PREFIX + name, JSON.stringify(kept))
        return storage !== undefined
      } catch {
        return false
      }
    },
    drop(name: string): void {
      try {
        storage?.removeItem(PREFIX + name)
      } catch {}
    },
  }
}

/** Reads a kept draft. An older version of the page may have written fewer members, or something else. */
function parse(text: string | null): KeptDraft | undefined {
  if (text === null) return undefined
  const { draft, revision, savedAt } = JSON.parse(text)
  const isDraft =
    typeof draft === 'object' &&
    draft !== null &&
    ['id', 'name', 'description', 'payTo'].every((name) => typeof draft[name] === 'string') &&
    Array.isArray(draft.endpoints)
  if (!isDraft || typeof revision !== 'number' || typeof savedAt !== 'number') return undefined
  const endpoints = draft.endpoints.map((kept: object) => ({ ...emptyEndpoint(), ...kept }))
  return { draft: { ...draft, endpoints }, revision, savedAt }
}
