import { emptyEndpoint, type ListingDraft } from './draft.js'

/** The part of the browser's store that drafts need. */
export interface DraftShelf {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

export interface KeptDraft {
  draft: ListingDraft
  /** Of the listing it was begun from; 0 for a new one. */
  revision: number
  /** Unix milliseconds. */
  savedAt: number
}

const PREFIX = 'arcus:draft:'

/** Keeps unsigned work on this device, one draft for each listing and one for a new one. Never throws: a full or forbidden shelf keeps nothing. */
export function createDraftStorage(shelf: DraftShelf | undefined) {
  return {
    read(name: string): KeptDraft | undefined {
      try {
        return parse(shelf?.getItem(PREFIX + name) ?? null)
      } catch {
        return undefined
      }
    },
    /** Whether it is kept. */
    write(name: string, kept: KeptDraft): boolean {
      try {
        shelf?.setItem(PREFIX + name, JSON.stringify(kept))
        return shelf !== undefined
      } catch {
        return false
      }
    },
    drop(name: string): void {
      try {
        shelf?.removeItem(PREFIX + name)
      } catch {}
    },
  }
}

/** What an older version of the page kept may lack members, or be something else. */
function parse(text: string | null): KeptDraft | undefined {
  if (text === null) return undefined
  const { draft, revision, savedAt } = JSON.parse(text)
  const isDraft =
    typeof draft === 'object' &&
    draft !== null &&
    ['id', 'name', 'description', 'payTo'].every((name) => typeof draft[name] === 'string') &&
    Array.isArray(draft.endpoints)
  if (!isDraft || typeof revision !== 'number' || typeof savedAt !== 'number') return undefined
  const endpoints = draft.endpoints.map((kept: object) => ({ ...emptyEndpoint(), ...kept }))
  return { draft: { ...draft, endpoints }, revision, savedAt }
}
