import { useSyncExternalStore } from 'react'

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  addEventListener('popstate', listener)
  return () => {
    removeEventListener('hashchange', listener)
    removeEventListener('popstate', listener)
  }
}

/** The fragment of the address, with its `#`. */
export function useHash(): string {
  return useSyncExternalStore(subscribe, () => location.hash)
}
