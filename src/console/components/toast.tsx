import { useEffect, useSyncExternalStore } from 'react'
import { IconButton } from './button.js'

const SHOWN_MS = 10_000

const listeners = new Set<() => void>()
let message: { text: string } | undefined

function show(next: typeof message): void {
  message = next
  for (const listener of listeners) listener()
}

/** Says on whatever page is open what has happened, in place of what was said before. */
export function say(text: string): void {
  show({ text })
}

/** Takes back what was said, because it was said to somebody else. */
export function hush(): void {
  show(undefined)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The one place in which all pages say what has happened. Screen readers read it when they are idle. */
export function Toast() {
  const said = useSyncExternalStore(subscribe, () => message)
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(hush, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said])
  return (
    <div
      role="status"
      aria-label="What happened"
      className="pointer-events-none fixed inset-x-4 bottom-4 z-40 flex justify-center"
    >
      {said !== undefined && (
        <div className="arriving pointer-events-auto flex max-w-lg items-center gap-3 rounded-xl border border-line-strong bg-raised py-2 pr-2 pl-4 text-sm shadow-card">
          <p className="min-w-0 break-words text-pretty">{said.text}</p>
          <IconButton label="Close the message" icon="cross" iconSize={12} onClick={hush} />
        </div>
      )}
    </div>
  )
}
