import { type ReactNode, useId } from 'react'

/**
 * A word that explains itself when it is pressed, by a mouse, a key or a finger. The browser shows the text above everything,
 * next to the word, and closes it with Escape or a press elsewhere.
 */
export function Hint({ text, children }: { text: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <>
      <button type="button" popoverTarget={id} className="hint-word text-left">
        {children}
      </button>
      <span id={id} popover="auto" className="hint">
        {text}
      </span>
    </>
  )
}
