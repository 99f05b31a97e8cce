import { useEffect, useRef, useState } from 'react'
import { createDraftStorage, type KeptDraft, type ListingDraft } from './draft.js'

const SAVE_MS = 250

/** Absent where the browser forbids it. */
function shelf(): Storage | undefined {
  try {
    return window.localStorage
  } catch {
    return undefined
  }
}

const storage = createDraftStorage(shelf())

export function readDraft(name: string): KeptDraft | undefined {
  return storage.read(name)
}

/**
 * The form's state, kept on this device as it is typed. `start` is what the form shows when nothing was kept; `revision`
 * that of the listing it comes from.
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

  // What was typed in the last moment before leaving is kept too.
  // biome-ignore lint/correctness/useExhaustiveDependencies: flush reads what is newest by itself
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
    /** What was found on this device when the form opened; gone once it is dropped. */
    kept,
    isStale: isDirty && base < revision,
    change(next: ListingDraft) {
      setIsDirty(true)
      setState(next)
    },
    /** Forgets what was typed, and shows `next`. */
    drop(next: ListingDraft = start) {
      latest.current = undefined
      storage.drop(name)
      setKept(undefined)
      setIsDirty(false)
      setState(next)
    },
    /** Takes the draft as meant for the listing as it is now. */
    rebase() {
      const rebased = { draft, revision, savedAt: Date.now() }
      storage.write(name, rebased)
      setKept(rebased)
    },
  }
}
