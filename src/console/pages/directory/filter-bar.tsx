import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import type { EndpointFilters } from '../../api/queries.js'
import { Icon } from '../../components/icons.js'
import {
  type SearchSchema,
  useSearchState,
  useSearchTarget,
} from '../../components/search-state.js'
import { SearchInput, Select, type SelectOptions } from '../../components/select.js'
import { atomicToUsd } from '../../format/amounts.js'
import { meanings, readSearch } from '../../format/search-target.js'
import { shortHex } from '../../format/untrusted-text.js'

/** Long enough not to search for each key, short enough to feel immediate. */
const TYPING_MS = 140
const MAX_QUERY_CHARS = 200

const sortNames = {
  calls: 'Most used',
  payments: 'Most payments',
  payers: 'Most buyers',
  lastPaid: 'Paid most recently',
  price: 'Lowest price',
  new: 'Newest first',
  delivered: 'Best delivered',
  success: 'Best success rate',
  title: 'By title',
} as const
export type SortChoice = keyof typeof sortNames
const sorts = Object.keys(sortNames) as SortChoice[]

/** Returns the order without a choice: `undefined` is the best match of a search, and a whole list begins with what is used most. */
function usualSort({ query }: EndpointFilters): SortChoice | undefined {
  return query === undefined ? 'calls' : undefined
}

/** Returns the order of the list; `undefined` is the best match. */
export function sortOf(filters: EndpointFilters): string | undefined {
  return filters.sort ?? usualSort(filters)
}

function sortOptions(filters: EndpointFilters): SelectOptions<string> {
  const usual = usualSort(filters)
  const others = sorts.filter((sort) => sort !== usual || sort === filters.sort)
  return [
    ['', usual === undefined ? 'Best match first' : sortNames[usual]],
    ...others.map((sort) => [sort, sortNames[sort]] as const),
  ]
}

const bounds = { 1000: '0.001', 10000: '0.01', 100000: '0.10', 1000000: '1' }

function priceOptions({ maxPrice = '' }: EndpointFilters): SelectOptions<string> {
  // A bound of the address that is none of these is a choice of its own.
  const own = maxPrice === '' || maxPrice in bounds ? {} : { [maxPrice]: atomicToUsd(maxPrice) }
  const all = Object.entries({ ...bounds, ...own })
  return [['', 'Any price'], ...all.map(([atomic, most]) => [atomic, `up to $${most}`] as const)]
}

interface FilterBarProps {
  filters: EndpointFilters
  onChange: (filters: EndpointFilters) => void
}

export function FilterBar({ filters, onChange }: FilterBarProps) {
  const set = (name: keyof EndpointFilters, value: string | undefined) => {
    const { [name]: _, ...rest } = filters
    onChange(value ? { ...rest, [name]: value } : rest)
  }
  const isLive = filters.verified === 'true'
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchField value={filters.query ?? ''} onChange={(words) => set('query', words)} />
      <div className="-m-1 flex max-w-[calc(100%+0.5rem)] gap-2 overflow-x-auto p-1 [scrollbar-width:none] sm:flex-wrap">
        <Select
          variant="pill"
          aria-label="Order"
          value={filters.sort ?? ''}
          options={sortOptions(filters)}
          onChange={(value) => set('sort', value)}
          className={pill(filters.sort !== undefined && filters.sort !== usualSort(filters))}
        />
        <Select
          variant="pill"
          aria-label="Price"
          value={filters.maxPrice ?? ''}
          options={priceOptions(filters)}
          onChange={(value) => set('maxPrice', value)}
          className={pill(filters.maxPrice !== undefined)}
        />
        <button
          type="button"
          aria-pressed={isLive}
          onClick={() => set('verified', isLive ? undefined : 'true')}
          className={pill(isLive)}
        >
          Passed its check
        </button>
        {filters.payTo !== undefined && (
          <Chip onRemove={() => set('payTo', undefined)}>
            Paid at{' '}
            <bdi className="font-mono text-xs" title={filters.payTo}>
              {shortHex(filters.payTo)}
            </bdi>
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
      <span className="sr-only">(remove)</span>
    </button>
  )
}

const pill = (isOn: boolean) =>
  `inline-flex h-10 shrink-0 items-center gap-1.5 rounded-lg border px-3 text-sm transition-colors ${
    isOn
      ? 'border-accent bg-accent-soft font-medium text-accent'
      : 'border-line-strong bg-raised text-muted hover:text-ink'
  }`

/** Searches the directory while words are typed. Enter leads to the payment whose hash, or payer and nonce, stand there. */
function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value)
  const applied = useRef(value)
  const [, navigate] = useLocation()
  const target = useSearchTarget()
  const { kind } = readSearch(typed)
  const isWords = kind === 'words'

  useEffect(() => {
    if (value === applied.current) return
    applied.current = value
    setTyped(value)
  }, [value])

  useEffect(() => {
    if (!isWords || typed.trim() === applied.current) return
    const timer = setTimeout(() => {
      applied.current = typed.trim()
      onChange(typed.trim())
    }, TYPING_MS)
    return () => clearTimeout(timer)
  })

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isWords) return
    setTyped('')
    void target(typed).then(navigate)
  }

  return (
    <form onSubmit={submit} className="relative min-w-56 flex-1 max-sm:basis-full">
      <SearchInput
        value={typed}
        onChange={setTyped}
        placeholder="Search APIs, or a payment"
        aria-label="Search APIs, or find a payment by its transaction, or by payer and nonce"
        aria-keyshortcuts="/"
        maxLength={MAX_QUERY_CHARS}
      />
      <p role="status" className="absolute top-full z-10 mt-1 empty:hidden">
        {!isWords && (
          <span className="inline-block rounded-lg border border-line-strong bg-raised px-3 py-1.5 text-xs">
            {meanings[kind]} Press Enter.
          </span>
        )}
      </p>
      {typed === '' && (
        <span
          className="pointer-events-none absolute inset-y-0 right-3 hidden items-center font-mono text-xs text-faint sm:flex"
          aria-hidden="true"
        >
          /
        </span>
      )}
    </form>
  )
}

const schema: SearchSchema<keyof EndpointFilters> = {
  query: (words) => words.length <= MAX_QUERY_CHARS,
  maxPrice: (atomic) => /^\d{1,30}$/.test(atomic),
  verified: ['true'],
  payTo: (address) => /^0x[0-9a-fA-F]{40}$/.test(address),
  sort: sorts,
}

const LAST = 'arcus:directory'

/** Keeps the filters in the address of the page, and in this tab for the way back from a seller. */
export function useFilters() {
  const { values, set } = useSearchState(schema)
  const search = useSearch()
  useEffect(() => {
    try {
      sessionStorage.setItem(LAST, search)
    } catch {}
  }, [search])
  return { filters: values as EndpointFilters, setFilters: set }
}

/** Returns the address of the directory as this tab showed it last. */
export function lastDirectory(): string {
  try {
    const search = sessionStorage.getItem(LAST) ?? ''
    return search === '' ? '/' : `/?${search}`
  } catch {
    return '/'
  }
}

/** Returns whether the directory is all that somebody wants to see: they search, filter or order it. */
export function isBrowsing(filters: EndpointFilters): boolean {
  return Object.keys(filters).length > 0
}

export function isFiltered({ sort: _, ...filters }: EndpointFilters): boolean {
  return Object.keys(filters).length > 0
}
