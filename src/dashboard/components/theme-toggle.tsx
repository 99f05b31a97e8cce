import { useSyncExternalStore } from 'react'
import { Icon } from './icons.js'

const CHANGED = 'arcus:theme'

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}

/** The theme that is shown, for what is drawn rather than styled. */
export function useTheme(): 'light' | 'dark' {
  return useSyncExternalStore(subscribe, () =>
    document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light',
  )
}

/** Light or dark; what agrees with the system follows the system from then on. `/theme.js` does the rest. */
export function ThemeToggle() {
  const theme = useTheme()
  const other = theme === 'dark' ? 'light' : 'dark'
  const toggle = () => {
    const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
    try {
      if (other === system) localStorage.removeItem('arcus:theme')
      else localStorage.setItem('arcus:theme', other)
    } catch {
      document.documentElement.dataset.theme = other
    }
    dispatchEvent(new Event(CHANGED))
  }
  return (
    <button
      type="button"
      onClick={toggle}
      aria-label={`Switch to the ${other} theme`}
      title={`Switch to the ${other} theme`}
      className="inline-flex size-9 items-center justify-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
    >
      <Icon name={theme === 'dark' ? 'sun' : 'moon'} />
    </button>
  )
}
