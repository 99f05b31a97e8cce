import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from './button.js'
import { Dialog } from './dialog.js'
import { useSearchTarget } from './search-state.js'
import { SearchInput } from './select.js'

const MAX_CHARS = 200

/**
 * The one search box: a transaction hash, or a payer with a nonce, leads to its payment, an address to what is paid there,
 * and words or the id of a seller to the directory. It takes the focus where it is alone in a dialog.
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
  const target = useSearchTarget()
  const hint = useId()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isAlone) input.current?.focus()
  }, [isAlone])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSearch?.()
    navigate(target(typed))
  }

  return (
    <search>
      <form onSubmit={submit} className="flex max-w-2xl gap-2">
        <div className="relative min-w-0 flex-1">
          <SearchInput
            ref={input}
            value={typed}
            onChange={setTyped}
            placeholder="Search"
            aria-label="Payment, address, seller or words"
            aria-describedby={hint}
            maxLength={MAX_CHARS}
            spellCheck={false}
            autoComplete="off"
          />
        </div>
        <Button type="submit" variant="primary">
          Search
        </Button>
      </form>
      <p id={hint} className="mt-1.5 text-xs text-muted">
        A transaction hash, a payer and a nonce, an address, the id of a seller, or words.
      </p>
    </search>
  )
}

/** The search box of every page. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Search everything" onClose={onClose}>
      <SearchBox isAlone onSearch={onClose} />
    </Dialog>
  )
}
