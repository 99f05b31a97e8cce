import { type ReactNode, useId, useState } from 'react'

/**
 * A word that explains itself when it is pressed, by a mouse, a key or a finger. The browser shows the text above everything,
 * next to the word, and closes it with Escape or a press elsewhere.
 */
export function Hint({ text, children }: { text: string; children: ReactNode }) {
  const id = useId()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" popoverTarget={id} className="hint-word relative z-10 text-left">
        {children}
      </button>
      <span
        id={id}
        popover="auto"
        role="status"
        onBeforeToggle={({ newState }) => setIsOpen(newState === 'open')}
        className="hint"
      >
        {isOpen && text}
      </span>
    </>
  )
}
