import { useEffect, useState } from 'react'
import { Icon } from './icons.js'

const SHOWN_MS = 1_600

/** Copies `text`; `name` says what it is. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () => {
    // Absent where the page is not served securely.
    const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    copied.then(
      () => setState('copied'),
      () => setState('refused'),
    )
  }
  return (
    <button
      type="button"
      onClick={copy}
      aria-label={`Copy ${name}`}
      title={state === 'refused' ? 'The browser did not allow copying' : `Copy ${name}`}
      className={`inline-flex size-6 shrink-0 items-center justify-center rounded-md hover:bg-sunken ${
        state === 'copied'
          ? 'text-ok'
          : state === 'refused'
            ? 'text-bad'
            : 'text-faint hover:text-ink'
      }`}
    >
      <Icon
        name={state === 'copied' ? 'check' : state === 'refused' ? 'cross' : 'copy'}
        size={13}
      />
      <span role="status" className="sr-only">
        {state === 'copied' ? 'Copied' : state === 'refused' ? 'Copying was not allowed' : ''}
      </span>
    </button>
  )
}
