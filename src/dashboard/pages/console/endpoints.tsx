import { Suspense } from 'react'
import type { MerchantView } from '../../../api/listings.js'
import { Skeleton } from '../../components/loaded.js'
import { lazyPage, PageTitle } from '../../components/page.js'

/** Loaded on demand, because the form and its rules are of no use to the other pages of an owner. */
const ListingEditor = lazyPage(() => import('./editor/listing-editor.js'), 'ListingEditor')

const form = (
  <div role="status" aria-label="Loading the form">
    <Skeleton className="h-64 w-full" />
  </div>
)

/** Lists a new API, or checks one without a wallet. */
export function Sell() {
  return (
    <>
      <PageTitle title="Sell your API">
        Paste its URL to see what a buyer sees. No wallet is needed for that. To list it, your
        wallet signs once, at the end.
      </PageTitle>
      <Suspense fallback={form}>
        <ListingEditor />
      </Suspense>
    </>
  )
}

/** Shows the APIs of a listing with their health and prices, to be checked and edited. */
export function Endpoints({ merchant }: { merchant: MerchantView }) {
  return (
    <Suspense fallback={form}>
      <ListingEditor merchant={merchant} />
    </Suspense>
  )
}
