import { withQuery } from '@arcus/client/calls'
import type { BrowseAnswer } from '@arcus/protocol/answers/discovery'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { listedNetwork, read, settingsQuery } from '../api/queries.js'
import { healthOf } from '../format/health.js'
import { meanings, pageOf, readSearch } from '../format/search-target.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { useSearchTarget } from './search-state.js'
import { SearchInput } from './select.js'
import { UntrustedText } from './untrusted-text.js'

const MAX_CHARS = 200
/** Long enough not to ask for each key, short enough to feel immediate. */
const TYPING_MS = 140
const MOST_APIS = 5
const MOST_SELLERS = 3

/** A page that a typed text may mean. */
interface Suggestion {
  href: string
  text: string
  /** The kind of the suggestion, and what is known of it. */
  about: string
}

/**
 * The one search box: a transaction hash, or a payer with a nonce, leads to its payment, an address to what it sells or paid,
 * and words or the id of a seller to the directory. It suggests pages as one types, through which the arrow keys move.
 */
function SearchBox({ onSearch }: { onSearch: () => void }) {
  const [typed, setTyped] = useState('')
  /** The suggestion that the arrow keys have reached; -1 for the text itself. */
  const [at, setAt] = useState(-1)
  const [isClosed, setIsClosed] = useState(false)
  const [, navigate] = useLocation()
  const target = useSearchTarget()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const suggestions = useSuggestions(typed)
  const shown = isClosed ? [] : suggestions
  useEffect(() => input.current?.focus(), [])

  const go = (href: string) => {
    onSearch()
    navigate(href)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const chosen = shown[at]?.href
    if (chosen === undefined) void target(typed).then(go)
    else go(chosen)
  }
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && shown.length > 0) {
      // The next Escape closes the dialog.
      event.preventDefault()
      setAt(-1)
      return setIsClosed(true)
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined || suggestions.length === 0) return
    event.preventDefault()
    setIsClosed(false)
    // One place more than suggestions: the text itself.
    const places = suggestions.length + 1
    setAt(((at + 1 + step + places) % places) - 1)
  }

  return (
    <search>
      <form onSubmit={submit} className="flex gap-2">
        <div className="relative min-w-0 flex-1">
          <SearchInput
            ref={input}
            value={typed}
            onChange={(text) => {
              setTyped(text)
              setAt(-1)
              setIsClosed(false)
            }}
            onKeyDown={move}
            onBlur={() => setIsClosed(true)}
            placeholder="Search"
            role="combobox"
            aria-label="Payment, address, seller or words"
            aria-describedby={`${id}-hint`}
            aria-autocomplete="list"
            aria-expanded={shown.length > 0}
            aria-controls={`${id}-list`}
            aria-activedescendant={shown[at] === undefined ? undefined : `${id}-${at}`}
            maxLength={MAX_CHARS}
            spellCheck={false}
            autoComplete="off"
          />
          <div
            id={`${id}-list`}
            role="listbox"
            aria-label="Suggestions"
            className="mt-1.5 overflow-hidden rounded-xl border border-line-strong bg-raised empty:hidden"
          >
            {shown.map(({ href, text, about }, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
              <div
                key={href}
                id={`${id}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === at}
                // The field keeps the focus, so that it stays open until the press has ended.
                onPointerDown={(event) => event.preventDefault()}
                onClick={() => go(href)}
                className="flex cursor-pointer items-baseline justify-between gap-4 px-3 py-2 text-sm hover:bg-sunken aria-selected:bg-sunken"
              >
                <span className="min-w-0 truncate">
                  <UntrustedText text={text} max={80} />
                </span>
                <span className="min-w-0 shrink-0 truncate text-xs text-muted max-sm:max-w-40">
                  <UntrustedText text={about} max={80} />
                </span>
              </div>
            ))}
          </div>
        </div>
        <Button type="submit" variant="primary">
          Search
        </Button>
      </form>
      <p id={`${id}-hint`} className="mt-1.5 text-xs text-muted">
        A transaction hash, a payer and a nonce, an address, the id of a seller, or words.
      </p>
    </search>
  )
}

/** Returns the pages that a text may mean: the payment or address that it is, or APIs and sellers that have its words. */
function useSuggestions(typed: string): Suggestion[] {
  const [words, setWords] = useState('')
  const listed = listedNetwork(useQuery(settingsQuery).data)?.network
  const target = readSearch(typed)
  const { kind } = target
  const wanted = kind === 'words' ? typed.trim() : ''
  useEffect(() => {
    const timer = setTimeout(() => setWords(wanted), TYPING_MS)
    return () => clearTimeout(timer)
  }, [wanted])
  const { data } = useQuery({
    ...read<BrowseAnswer>(
      ['suggestions', words],
      withQuery('/api/endpoints', { query: words, limit: MOST_APIS }),
    ),
    enabled: words !== '',
    placeholderData: keepPreviousData,
  })
  const text = typed.trim()
  if (kind === 'address') {
    return [
      { href: pageOf(target, listed), text, about: 'The APIs that are paid there' },
      { href: `/buyers/${target.address}`, text, about: 'What this address paid' },
    ]
  }
  if (kind !== 'words') return [{ href: pageOf(target, listed), text, about: meanings[kind] }]
  if (wanted === '' || data === undefined) return []
  const sellers = new Map(data.items.map(({ merchant }) => [merchant.id, merchant.name]))
  const sellerPage = (id: string) => `/merchants/${encodeURIComponent(id)}`
  return [
    ...data.items.map((item) => ({
      href: `${sellerPage(item.merchant.id)}#endpoint-${item.id}`,
      text: item.title,
      about: `${healthOf(item).name} · API by ${item.merchant.name}`,
    })),
    ...[...sellers].slice(0, MOST_SELLERS).map(([id, name]) => ({
      href: sellerPage(id),
      text: name,
      about: 'Seller',
    })),
  ]
}

/** The search box of every page. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Search everything" onClose={onClose}>
      <SearchBox onSearch={onClose} />
    </Dialog>
  )
}
