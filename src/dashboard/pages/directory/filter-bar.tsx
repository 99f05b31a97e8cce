import { useEffect, useMemo, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import type { EndpointFilters } from '../../api/queries.js'
import { Icon } from '../../components/icons.js'
import { oneLine } from '../../format/untrusted-text.js'

/** Long enough to not ask for each key, short enough to feel at once. */
const TYPING_MS = 140

const prices = [
  ['1000', 'up to $0.001'],
  ['10000', 'up to $0.01'],
  ['100000', 'up to $0.10'],
  ['1000000', 'up to $1'],
]

const marks = [
  ['verified', 'Verified'],
  ['official', 'Official'],
  ['hasSchema', 'Has schema'],
] as const

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
      <div className="flex max-w-full gap-2 overflow-x-auto p-0.5 max-sm:-mx-4 max-sm:w-[calc(100%+2rem)] max-sm:max-w-none max-sm:px-4">
        <Choice
          label="Method"
          value={filters.method}
          options={[
            ['GET', 'GET'],
            ['POST', 'POST'],
          ]}
          onChange={(value) => set('method', value)}
        />
        <Choice
          label="Pricing"
          value={filters.pricing}
          options={[
            ['fixed', 'Fixed price'],
            ['metered', 'Metered'],
          ]}
          onChange={(value) => set('pricing', value)}
        />
        <Choice
          label="Price"
          value={filters.maxPrice}
          options={prices}
          onChange={(value) => set('maxPrice', value)}
        />
        {marks.map(([name, label]) => (
          <button
            key={name}
            type="button"
            aria-pressed={filters[name] === 'true'}
            onClick={() => set(name, filters[name] === 'true' ? undefined : 'true')}
            className={pill(filters[name] === 'true')}
          >
            {label}
          </button>
        ))}
        {filters.tag !== undefined && (
          <button type="button" onClick={() => set('tag', undefined)} className={pill(true)}>
            <span>
              Tag: <bdi>{oneLine(filters.tag, 32)}</bdi>
            </span>
            <Icon name="cross" size={10} />
            <span className="sr-only">(remove)</span>
          </button>
        )}
      </div>
    </div>
  )
}

const pill = (isOn: boolean) =>
  `inline-flex h-10 shrink-0 items-center gap-1.5 rounded-lg border px-3 text-sm transition-colors ${
    isOn
      ? 'border-accent bg-accent-soft font-medium text-accent'
      : 'border-line-strong bg-raised text-muted hover:text-ink'
  }`

function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [words, setWords] = useState(value)
  const field = useRef<HTMLInputElement>(null)
  const told = useRef(value)

  useEffect(() => {
    if (value === told.current) return
    told.current = value
    setWords(value)
  }, [value])

  useEffect(() => {
    if (words.trim() === told.current) return
    const timer = setTimeout(() => {
      told.current = words.trim()
      onChange(words.trim())
    }, TYPING_MS)
    return () => clearTimeout(timer)
  })

  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof Element && event.target.matches('input, textarea, select')
      if (event.key !== '/' || isTyping || event.metaKey || event.ctrlKey) return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])

  return (
    <div className="relative min-w-56 flex-1 max-sm:basis-full">
      <span className="pointer-events-none absolute inset-y-0 left-3 flex items-center text-faint">
        <Icon name="search" />
      </span>
      <input
        ref={field}
        type="search"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        placeholder="Search endpoints"
        aria-label="Search endpoints"
        aria-keyshortcuts="/"
        maxLength={200}
        className="h-10 w-full rounded-lg border border-line-strong bg-raised pr-10 pl-9 text-sm"
      />
      {words === '' && (
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

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: string | undefined
  options: readonly (readonly string[])[]
  onChange: (value: string | undefined) => void
}) {
  return (
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value || undefined)}
      className={`${pill(value !== undefined)} pr-8`}
    >
      <option value="">{`Any ${label.toLowerCase()}`}</option>
      {options.map(([option, name]) => (
        <option key={option} value={option}>
          {name}
        </option>
      ))}
    </select>
  )
}

const names = [
  'query',
  'method',
  'pricing',
  'maxPrice',
  'verified',
  'official',
  'hasSchema',
  'tag',
] as const satisfies (keyof EndpointFilters)[]

/** The filters as they stand in the address, and a way to set all of them; setting does not fill the history. */
export function useFilters(): [EndpointFilters, (filters: EndpointFilters) => void] {
  const [params, setParams] = useSearchParams()
  const filters = useMemo(() => {
    const given = names.map((name) => [name, params.get(name)] as const)
    return Object.fromEntries(given.filter(([, value]) => value)) as EndpointFilters
  }, [params])
  const set = (next: EndpointFilters) =>
    setParams(
      Object.entries(next).filter((entry): entry is [string, string] => Boolean(entry[1])),
      { replace: true },
    )
  return [filters, set]
}

export function isFiltered(filters: EndpointFilters): boolean {
  return Object.keys(filters).length > 0
}
