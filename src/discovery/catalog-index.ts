import {
  advance,
  type CatalogSource,
  LoadStopped,
  loadOutline,
  loadView,
} from './catalog-loader.js'
import type { CatalogView } from './catalog-view.js'
import { findLetters } from './find-documents.js'
import type { Turns } from './turns.js'

export interface CatalogIndexOptions {
  source: CatalogSource
  turns: Turns
  /** Told what went wrong while the catalog was read; it is read again. */
  onFault: (error: unknown) => void
  /** Told each time the catalog was read as a whole. */
  onBuilt?: () => void
  /** For tests; `MAX_CHANGED` otherwise. */
  maxChanged?: number
}

/** What operators watch of the index. */
export interface IndexFigures {
  /** 0 until the catalog was read for the first time. */
  endpoints: number
  /** Of those, what changed since the base was built. */
  changed: number
  /** How long building the base took the last time; 0 before the first. */
  buildSeconds: number
}

/** The catalog in memory, following the store. */
export interface CatalogIndex {
  /** Reads the catalog in the background: first its outline, until which there is no view, then all of it. */
  start(): void
  /** Resolves when nothing is read any more. */
  stop(): Promise<void>
  /** Whether the view is of more than an outline. */
  isReady(): boolean
  figures(): IndexFigures
  /**
   * The catalog with every change up to `wanted` in it, or as it stands in the store now; `undefined` while it is first
   * read. After a flood of changes it may lag behind for a moment.
   */
  current(wanted?: number): Promise<CatalogView | undefined>
}

/** Past so many changed documents, which every search looks through one by one, the base is built anew. */
const MAX_CHANGED = 5_000
/** Behind by more changes than these the catalog is read anew, and searches do not wait for it. */
const MAX_LAG = 5_000
const RETRY_MS = 1_000

export function createCatalogIndex(options: CatalogIndexOptions): CatalogIndex {
  const { source, turns, onFault, onBuilt, maxChanged = MAX_CHANGED } = options
  let view: CatalogView | undefined
  let isStopped = false
  let loading: Promise<void> | undefined
  let following: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined
  let buildSeconds = 0

  const lagOf = async ({ sequence }: CatalogView, wanted?: number) =>
    (wanted ?? (await source.lastChange())) - sequence

  /** One step towards the store; calls that come meanwhile wait for the same. */
  function follow(): Promise<void> {
    following ??= step().finally(() => {
      following = undefined
    })
    return following
  }

  async function step(): Promise<void> {
    const before = view
    if (before === undefined) return
    const after = await advance(before, source, turns)
    // A base that was built meanwhile is newer; what it lacks is the next step.
    if (view === before) view = after
    if (after.changed.length > maxChanged) load()
  }

  function load(): void {
    if (loading !== undefined || isStopped) return
    loading = build()
      .catch((error) => {
        if (error instanceof LoadStopped) return
        onFault(error)
        retry = setTimeout(load, RETRY_MS)
      })
      .finally(() => {
        loading = undefined
      })
  }

  const isReady = () => view !== undefined && !view.base.isOutline

  async function build(): Promise<void> {
    const isOver = () => isStopped
    const startedAt = performance.now()
    view ??= await loadOutline(source, turns, isOver)
    let built = await loadView(source, turns, isOver)
    // Never back behind what was shown already, however much came meanwhile.
    const mustFollow = (lag: number) =>
      lag > 0 && (lag <= MAX_LAG || built.sequence < (view?.sequence ?? 0))
    while (mustFollow(await lagOf(built))) {
      if (isStopped) throw new LoadStopped()
      built = await advance(built, source, turns)
    }
    view = built
    buildSeconds = (performance.now() - startedAt) / 1_000
    onBuilt?.()
    await findLetters(built.base, isOver)
  }

  return {
    start: load,
    async stop() {
      isStopped = true
      clearTimeout(retry)
      await Promise.all([loading, following?.catch(() => {})])
    },
    isReady,
    figures: () => ({
      endpoints: isReady() ? (view?.size ?? 0) : 0,
      changed: view?.changed.length ?? 0,
      buildSeconds,
    }),
    async current(wanted) {
      let upTo = wanted
      while (view !== undefined) {
        const before = view
        const lag = await lagOf(before, upTo)
        if (lag > MAX_LAG) load()
        if (lag <= 0 || lag > MAX_LAG) break
        await follow()
        // A store that was set back no longer has what is wanted: what it has is all there is.
        if (view === before) upTo = undefined
      }
      return view
    },
  }
}
