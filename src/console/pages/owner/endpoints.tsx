import { Suspense } from 'react'
import { Skeleton } from '../../components/loaded.js'
import { lazyPage, PageTitle } from '../../components/page.js'

/** The APIs of a listing. Loaded on demand, because the form and its rules are of no use to the other pages of an owner. */
export const ListingEditor = lazyPage(() => import('./editor/listing-editor.js'), 'ListingEditor')

/** Keeps the place of a part of the console while its code comes. */
export function LoadingPart() {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton className="h-64 w-full" />
    </div>
  )
}

/** Lists a new API, or checks one without a wallet. */
export function Sell() {
  return (
    <>
      <PageTitle title="Sell your API">
        Paste its URL to see what a buyer sees. No wallet is needed for that. To list it, your
        wallet signs once, at the end.
      </PageTitle>
      <Suspense fallback={<LoadingPart />}>
        <ListingEditor />
      </Suspense>
    </>
  )
}
