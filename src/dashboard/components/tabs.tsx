import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'

export interface Tab {
  key: string
  name: string
  content: () => ReactNode
}

/** Tabs as the ARIA practices want them: arrows move, one panel is shown. */
export function Tabs({ tabs, label }: { tabs: Tab[]; label: string }) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState(tabs[0]?.key)
  const shown = tabs.find(({ key }) => key === chosen) ?? tabs[0]

  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined || shown === undefined) return
    event.preventDefault()
    const next = (tabs.indexOf(shown) + step + tabs.length) % tabs.length
    setChosen(tabs[next]?.key)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }

  return (
    <div>
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        onKeyDown={move}
        className="mb-3 flex gap-1 overflow-x-auto border-b border-line"
      >
        {tabs.map(({ key, name }) => {
          const isShown = key === shown?.key
          return (
            <button
              key={key}
              type="button"
              role="tab"
              id={`${id}-${key}`}
              aria-selected={isShown}
              aria-controls={`${id}-panel`}
              tabIndex={isShown ? 0 : -1}
              onClick={() => setChosen(key)}
              className={`-mb-px h-9 shrink-0 border-b-2 px-3 text-sm font-medium ${
                isShown ? 'border-accent text-ink' : 'border-transparent text-muted hover:text-ink'
              }`}
            >
              {name}
            </button>
          )
        })}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${shown?.key}`}>
        {shown?.content()}
      </div>
    </div>
  )
}
