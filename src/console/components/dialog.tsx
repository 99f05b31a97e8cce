import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { IconButton } from './button.js'

/** A modal `<dialog>`: the browser keeps the focus inside, closes it with Escape and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // The browser gives the focus back only if the dialog closes before it leaves the page.
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, and the click is on the backdrop
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
      className="arriving m-auto w-[min(26rem,calc(100vw-2rem))] rounded-2xl border border-line bg-raised p-0 shadow-card"
    >
      <div className="p-5">
        <div className="mb-4 flex items-center justify-between gap-4">
          <h2 id={id} className="text-lg font-semibold tracking-tight">
            {title}
          </h2>
          <IconButton label="Close" icon="cross" iconSize={14} onClick={onClose} />
        </div>
        {children}
      </div>
    </dialog>
  )
}
