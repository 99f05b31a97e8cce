import { withQuery } from 'arcus-client/calls'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { readSearch } from '../format/search-target.js'
import { Button } from './button.js'
import { SearchInput } from './field.js'
import { words } from './words.js'

const MAX_CHARS = 200

/**
 * The one search box: a transaction hash leads to its payment, an address to what is paid there, and words or the id of a
 * merchant to the directory. It takes the focus where it is alone in a dialog.
 */
export function SearchBox({
  isAlone = false,
  onSearch,
}: {
  isAlone?: boolean
  onSearch?: () => void
}) {
  const [typed, setTyped] = useState('')
  const [, navigate] = useLocation()
  const hint = useId()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isAlone) input.current?.focus()
  }, [isAlone])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSearch?.()
    const target = readSearch(typed)
    if (target.kind === 'hash') navigate(`/payments/${target.hash}`)
    else if (target.kind === 'address') navigate(`/directory?payTo=${target.address}`)
    else navigate(withQuery('/directory', { query: target.words }))
  }

  return (
    <search>
      <form onSubmit={submit} className="flex max-w-2xl gap-2">
        <div className="relative min-w-0 flex-1">
          <SearchInput
            ref={input}
            value={typed}
            onChange={setTyped}
            placeholder={words.search.placeholder}
            aria-label={words.search.label}
            aria-describedby={hint}
            maxLength={MAX_CHARS}
            spellCheck={false}
            autoComplete="off"
          />
        </div>
        <Button type="submit" variant="primary">
          {words.search.submit}
        </Button>
      </form>
      <p id={hint} className="mt-1.5 text-xs text-muted">
        {words.search.hint}
      </p>
    </search>
  )
}
