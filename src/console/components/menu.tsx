import { type FocusEvent, type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'
import { Button } from './button.js'

const itemStyle =
  'block w-full rounded-md px-3 py-2 text-left text-sm text-ink hover:bg-sunken focus:bg-sunken'

interface MenuAction {
  name: string
  /** Either an action or the address of another site. */
  act: (() => void) | string
}

/**
 * A button that opens a list of actions below it. Arrows move through the list. Escape, a choice and a step to another
 * place close it. Without actions the button does what `onClick` says: it stays the same button, so it keeps the focus.
 */
export function MenuButton({
  actions,
  heading,
  onClick,
  children,
  ...button
}: {
  actions: readonly MenuAction[]
  heading?: ReactNode
  onClick: () => void
  label?: string | undefined
  isBusy?: boolean
  variant?: 'primary' | 'secondary'
  children: ReactNode
}) {
  const [isOpen, setIsOpen] = useState(false)
  const trigger = useRef<HTMLSpanElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  const id = useId()
  const { label, ...look } = button
  const hasMenu = actions.length > 0

  const close = () => {
    setIsOpen(false)
    trigger.current?.querySelector('button')?.focus()
  }
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isOpen) return close()
    if (event.key === 'ArrowDown' && hasMenu && !isOpen) {
      event.preventDefault()
      return setIsOpen(true)
    }
    const items = [...(menu.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])]
    const at = items.indexOf(document.activeElement as HTMLElement)
    const next = {
      ArrowDown: at + 1,
      ArrowUp: (at < 1 ? items.length : at) - 1,
      Home: 0,
      End: items.length - 1,
    }[event.key]
    if (!isOpen || next === undefined) return
    event.preventDefault()
    items[next % items.length]?.focus()
  }
  const leave = ({ currentTarget, relatedTarget }: FocusEvent) => {
    if (!currentTarget.contains(relatedTarget)) setIsOpen(false)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it receives the keys of the button and the list inside
    <div className="relative" onKeyDown={move} onBlur={leave}>
      <span ref={trigger}>
        <Button
          size="sm"
          {...look}
          {...(hasMenu && { 'aria-haspopup': 'menu', 'aria-expanded': isOpen })}
          {...(isOpen && { 'aria-controls': id })}
          aria-label={label}
          onClick={hasMenu ? () => setIsOpen(!isOpen) : onClick}
        >
          {children}
        </Button>
      </span>
      {isOpen && hasMenu && (
        <div
          tabIndex={-1}
          className="arriving absolute top-full z-30 mt-1.5 w-64 rounded-xl border border-line-strong bg-raised p-1.5 shadow-card outline-none max-lg:left-0 lg:right-0"
        >
          {heading}
          <div ref={menu} id={id} role="menu" aria-label={label}>
            {actions.map((action, index) => (
              <Item key={action.name} {...action} isFirst={index === 0} onChoice={close} />
            ))}
          </div>
        </div>
      )}
    </div>
  )
}

const focusIt = (item: HTMLElement | null) => item?.focus()

function Item({
  name,
  act,
  isFirst,
  onChoice,
}: MenuAction & { isFirst: boolean; onChoice: () => void }) {
  const shared = {
    role: 'menuitem',
    tabIndex: -1,
    ref: isFirst ? focusIt : null,
    className: itemStyle,
  }
  if (typeof act === 'string') {
    return (
      <a {...shared} href={act} target="_blank" rel="noopener noreferrer" onClick={onChoice}>
        {name}
      </a>
    )
  }
  const choose = () => {
    onChoice()
    act()
  }
  return (
    <button {...shared} type="button" onClick={choose}>
      {name}
    </button>
  )
}
