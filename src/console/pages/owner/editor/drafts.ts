import type { FormValues } from './form.js'

/** A form that was not saved yet, as this device keeps it. */
export interface Draft {
  values: FormValues
  /** The revision of the listing that the draft started from; 0 for a new one. */
  revision: number
  /** Unix milliseconds. */
  savedAt: number
}

/** One for each listing, and one for a new one. */
const keyOf = (id: string) => `arcus:draft:${id}`

/** Returns the draft of a listing, or of `new`. The browser may forbid storage, which is then empty. */
export function readDraft(id: string): Draft | undefined {
  try {
    const draft = JSON.parse(localStorage.getItem(keyOf(id)) ?? '')
    const { name, endpoints } = draft.values
    return typeof name === 'string' && Array.isArray(endpoints) ? draft : undefined
  } catch {
    return undefined
  }
}

/** Keeps a draft. A full or forbidden storage keeps nothing, and the form works without it. */
export function writeDraft(id: string, draft: Draft): void {
  try {
    localStorage.setItem(keyOf(id), JSON.stringify(draft))
  } catch {}
}

export function dropDraft(id: string): void {
  try {
    localStorage.removeItem(keyOf(id))
  } catch {}
}
