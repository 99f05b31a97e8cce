import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useSearch } from 'wouter'
import { callMethods } from '../../../x402/calls.js'
import type { EndpointFilters } from '../../api/queries.js'
import { type Options, SearchInput, Select } from '../../components/field.js'
import { Icon } from '../../components/icons.js'
import { type SearchSchema, useSearchState } from '../../components/search-state.js'
import { Sentence } from '../../components/sentence.js'
import { atomicToUsd } from '../../format/amounts.js'
import { oneLine, shortHex } from '../../format/untrusted-text.js'
import { words } from './words.js'

/** Long enough not to search for each key, short enough to feel immediate. */
const TYPING_MS = 140
const MAX_QUERY_CHARS = 200

const choices = [
  [
    'method',
    words.method.name,
    [
      ['', words.method.any],
      ...callMethods.map(
        (method) => [method, method === 'MCP' ? words.method.mcp : method] as const,
      ),
    ],
  ],
  [
    'pricing',
    words.pricing.name,
    [
      ['', words.pricing.any],
      ['fixed', words.pricing.fixed],
      ['metered', words.pricing.metered],
    ],
  ],
  [
    'currency',
    words.currency.name,
    [
      ['', words.currency.any],
      ['USD', words.currency.USD],
      ['EUR', words.currency.EUR],
    ],
  ],
] as const

const sorts = ['calls', 'payers', 'lastPaid', 'price', 'new'] as const

/** Returns the order without a choice: `undefined` is the best match of a search, and a whole list begins with what is used most. */
export function usualSort({ query }: EndpointFilters): (typeof sorts)[number] | undefined {
  return query === undefined ? 'calls' : undefined
}

function sortChoices(filters: EndpointFilters) {
  const usual = usualSort(filters)
  const options = sorts
    .filter((sort) => sort !== usual || sort === filters.sort)
    .map((sort) => [sort, words.sort[sort]] as const)
  return ['sort', words.sort.name, [['', words.sort[usual ?? 'best']], ...options]] as const
}

/** An amount is one of the chosen currency, or else of dollars: euros are never compared with dollars. */
function priceChoices({ currency, maxPrice = '' }: EndpointFilters) {
  const sign = currency === 'EUR' ? '€' : '$'
  const common = { 1000: '0.001', 10000: '0.01', 100000: '0.10', 1000000: '1' }
  // A bound of the address that is none of these is a choice of its own.
  const own = maxPrice === '' || maxPrice in common ? {} : { [maxPrice]: atomicToUsd(maxPrice) }
  const bounds = { ...common, ...own }
  const options = Object.entries(bounds).map(
    ([atomic, most]) => [atomic, words.price.upTo(`${sign}${most}`)] as const,
  )
  return ['maxPrice', words.price.name, [['', words.price.any], ...options]] as const
}

const marks = ['verified', 'official', 'hasSchema'] as const

interface FilterBarProps {
  filters: EndpointFilters
  onChange: (filters: EndpointFilters) => void
}

export function FilterBar({ filters, onChange }: FilterBarProps) {
  const set = (name: keyof EndpointFilters, value: string | undefined) => {
    const { [name]: _, ...rest } = filters
    onChange(value ? { ...rest, [name]: value } : rest)
  }
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchField value={filters.query ?? ''} onChange={(words) => set('query', words)} />
      <div className="flex max-w-full gap-2 overflow-x-auto p-0.5 sm:-ml-0.5 max-sm:-mx-4 max-sm:w-[calc(100%+2rem)] max-sm:max-w-none max-sm:px-4">
        {[sortChoices(filters), ...choices, priceChoices(filters)].map(([name, label, options]) => (
          <Select
            key={name}
            variant="pill"
            aria-label={label}
            value={filters[name] ?? ''}
            options={options as Options<string>}
            onChange={(value) => set(name, value)}
            className={pill(filters[name] !== undefined)}
          />
        ))}
        {marks.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={filters[name] === 'true'}
            onClick={() => set(name, filters[name] === 'true' ? undefined : 'true')}
            className={pill(filters[name] === 'true')}
          >
            {words.marks[name]}
          </button>
        ))}
        {filters.payTo !== undefined && (
          <Chip onRemove={() => set('payTo', undefined)}>
            <Sentence
              text={words.paidAt}
              parts={{
                address: (
                  <bdi className="font-mono text-xs" title={oneLine(filters.payTo, 64)}>
                    {shortHex(oneLine(filters.payTo, 64))}
                  </bdi>
                ),
              }}
            />
          </Chip>
        )}
        {filters.tag !== undefined && (
          <Chip onRemove={() => set('tag', undefined)}>
            <Sentence text={words.tag} parts={{ tag: <bdi>{oneLine(filters.tag, 32)}</bdi> }} />
          </Chip>
        )}
      </div>
    </div>
  )
}

/** A filter that is on, and is removed by a press. */
function Chip({ onRemove, children }: { onRemove: () => void; children: ReactNode }) {
  return (
    <button type="button" onClick={onRemove} className={pill(true)}>
      <span>{children}</span>
      <Icon name="cross" size={10} />
      <span className="sr-only">{words.remove}</span>
    </button>
  )
}

const pill = (isOn: boolean) =>
  `inline-flex h-10 shrink-0 items-center gap-1.5 rounded-lg border px-3 text-sm transition-colors ${
    isOn
      ? 'border-accent bg-accent-soft font-medium text-accent'
      : 'border-line-strong bg-raised text-muted hover:text-ink'
  }`

function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  const applied = useRef(value)

  useEffect(() => {
    if (value === applied.current) return
    applied.current = value
    setTyped(value)
  }, [value])

  useEffect(() => {
    if (typed.trim() === applied.current) return
    const timer = setTimeout(() => {
      applied.current = typed.trim()
      onChange(typed.trim())
    }, TYPING_MS)
    return () => clearTimeout(timer)
  })

  return (
    <div className="relative min-w-56 flex-1 max-sm:basis-full">
      <SearchInput
        value={typed}
        onChange={setTyped}
        placeholder={words.search}
        aria-label={words.search}
        aria-keyshortcuts="/"
        maxLength={MAX_QUERY_CHARS}
      />
      {typed === '' && (
        <span
          className="pointer-events-none absolute inset-y-0 right-3 hidden items-center font-mono text-xs text-faint sm:flex"
          aria-hidden="true"
        >
          /
        </span>
      )}
    </div>
  )
}

const valuesOf = (name: (typeof choices)[number][0]) =>
  choices.flatMap(([key, , options]) =>
    key === name ? options.map(([value]) => value as string) : [],
  )
const isMarked = ['true']

const schema: SearchSchema<keyof EndpointFilters> = {
  query: (words) => words.length <= MAX_QUERY_CHARS,
  method: valuesOf('method'),
  pricing: valuesOf('pricing'),
  maxPrice: (atomic) => /^\d{1,30}$/.test(atomic),
  currency: valuesOf('currency'),
  verified: isMarked,
  official: isMarked,
  hasSchema: isMarked,
  tag: (tag) => tag.length <= 64,
  payTo: (address) => /^0x[0-9a-fA-F]{40}$/.test(address),
  sort: sorts,
}

const LAST = 'arcus:directory'

/** Keeps the filters in the address of the page, and in this tab for the way back from a merchant. */
export function useFilters() {
  const { values, odd, set } = useSearchState(schema)
  const search = useSearch()
  useEffect(() => {
    try {
      sessionStorage.setItem(LAST, search)
    } catch {}
  }, [search])
  return { filters: values as EndpointFilters, odd, setFilters: set }
}

/** Returns the address of the directory as this tab showed it last. */
export function lastDirectory(): string {
  try {
    const search = sessionStorage.getItem(LAST) ?? ''
    return search === '' ? '/directory' : `/directory?${search}`
  } catch {
    return '/directory'
  }
}

export function isFiltered({ sort: _, ...filters }: EndpointFilters): boolean {
  return Object.keys(filters).length > 0
}
