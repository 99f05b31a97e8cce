import { useEffect, useRef, useState } from 'react'
import { createDraftStorage, type KeptDraft, type ListingDraft } from './draft.js'

const SAVE_MS = 250

/** Returns `undefined` where the browser forbids storage. */
function localStorageIfAllowed(): Storage | undefined {
  try {
    return window.localStorage
  } catch {
    return undefined
  }
}

const storage = createDraftStorage(localStorageIfAllowed())

export function readDraft(name: string): KeptDraft | undefined {
  return storage.read(name)
}

/**
 * Holds the state of the form and keeps it on this device as it is typed. `start` is the form if nothing was kept,
 * `revision` that of the listing it comes from.
 */
export function useDraft(name: string, start: ListingDraft, revision: number) {
  const [kept, setKept] = useState(() => storage.read(name))
  const [draft, setState] = useState(kept?.draft ?? start)
  const [isDirty, setIsDirty] = useState(kept !== undefined)
  const base = kept?.revision ?? revision
  const latest = useRef<KeptDraft | undefined>(undefined)

  useEffect(() => {
    latest.current = isDirty ? { draft, revision: base, savedAt: Date.now() } : undefined
    if (!isDirty) return
    const timer = setTimeout(flush, SAVE_MS)
    return () => clearTimeout(timer)
  })

  const flush = () => {
    if (latest.current !== undefined) storage.write(name, latest.current)
  }

  // The last keystrokes before the page is left are kept too.
  // biome-ignore lint/correctness/useExhaustiveDependencies: flush reads the newest draft from the ref
  useEffect(() => {
    addEventListener('pagehide', flush)
    return () => {
      removeEventListener('pagehide', flush)
      flush()
    }
  }, [])

  return {
    draft,
    isDirty,
    /** The draft that was on this device when the form opened, until it is dropped. */
    kept,
    isStale: isDirty && base < revision,
    change(next: ListingDraft) {
      setIsDirty(true)
      setState(next)
    },
    /** Forgets the draft and shows `next`. */
    drop(next: ListingDraft = start) {
      latest.current = undefined
      storage.drop(name)
      setKept(undefined)
      setIsDirty(false)
      setState(next)
    },
    /** Bases the draft on the present revision of the listing. */
    rebase() {
      const rebased = { draft, revision, savedAt: Date.now() }
      storage.write(name, rebased)
      setKept(rebased)
    },
  }
}
