import { type ReactNode, useId } from 'react'
import { Button } from './button.js'

const itemStyle =
  'block w-full rounded-md px-3 py-2 text-left text-sm text-ink hover:bg-sunken focus-visible:bg-sunken'

interface MenuAction {
  name: string
  /** Either an action or the address of another site. */
  act: (() => void) | string
}

/**
 * A button that opens a list of actions below it. The browser closes it with Escape, a choice or a press elsewhere, and gives
 * the focus back. Without actions the button does what `onClick` says: it stays the same button, so it keeps the focus.
 */
export function MenuButton({
  actions,
  heading,
  onClick,
  label,
  children,
  ...look
}: {
  actions: readonly MenuAction[]
  heading?: ReactNode
  onClick: () => void
  label?: string | undefined
  isBusy?: boolean
  variant?: 'primary' | 'secondary'
  children: ReactNode
}) {
  const id = useId()
  const hasMenu = actions.length > 0
  return (
    <>
      <Button
        size="sm"
        {...look}
        {...(hasMenu ? { popoverTarget: id } : { onClick })}
        aria-label={label}
      >
        {children}
      </Button>
      {hasMenu && (
        <div id={id} popover="auto" className="menu w-64">
          {heading}
          {actions.map(({ name, act }) =>
            typeof act === 'string' ? (
              <a
                key={name}
                href={act}
                target="_blank"
                rel="noopener noreferrer"
                className={itemStyle}
              >
                {name}
              </a>
            ) : (
              <button
                key={name}
                type="button"
                popoverTarget={id}
                popoverTargetAction="hide"
                onClick={act}
                className={itemStyle}
              >
                {name}
              </button>
            ),
          )}
        </div>
      )}
    </>
  )
}
