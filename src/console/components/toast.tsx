import { useEffect, useSyncExternalStore } from 'react'
import { Icon } from './icons.js'

interface Toast {
  key: number
  text: string
}

const SHOWN_MS = 10_000
const MOST = 3

const listeners = new Set<() => void>()
let toasts: readonly Toast[] = []
let last = 0

function show(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/** Says on whatever page is open what has happened. The same words are said once at a time. */
export function say(text: string): void {
  const others = toasts.filter((toast) => toast.text !== text)
  show([...others, { key: ++last, text }].slice(-MOST))
}

/** Takes back all that was said, because it was said to somebody else. */
export function hush(): void {
  show([])
}

const forget = (key: number) => show(toasts.filter((toast) => toast.key !== key))

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The one place in which all pages say what has happened. Screen readers read it when they are idle. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div
      role="status"
      aria-label="What happened"
      className="pointer-events-none fixed inset-x-4 bottom-4 z-40 flex flex-col items-center gap-2"
    >
      {shown.map(({ key, text }) => (
        <OneToast key={key} id={key} text={text} />
      ))}
    </div>
  )
}

function OneToast({ id, text }: { id: number; text: string }) {
  useEffect(() => {
    const timer = setTimeout(() => forget(id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [id])
  return (
    <div className="arriving pointer-events-auto flex max-w-lg items-center gap-3 rounded-xl border border-line-strong bg-raised py-2 pr-2 pl-4 text-sm shadow-card">
      <p className="min-w-0 break-words text-pretty">{text}</p>
      <button
        type="button"
        onClick={() => forget(id)}
        aria-label="Close the message"
        className="inline-flex size-8 shrink-0 items-center justify-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
      >
        <Icon name="cross" size={12} />
      </button>
    </div>
  )
}
