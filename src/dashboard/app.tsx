import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { Skeleton } from './components/loaded.js'
import { NotFound, PageBoundary } from './components/page.js'
import { Shell } from './components/shell.js'
import { Directory } from './pages/directory/directory.js'

const Merchant = lazy(async () => ({
  default: (await import('./pages/merchant/merchant.js')).MerchantPage,
}))
const Lookup = lazy(async () => ({ default: (await import('./pages/lookup.js')).Lookup }))
const AttestationCheck = lazy(async () => ({
  default: (await import('./pages/attestation.js')).AttestationCheck,
}))
const Status = lazy(async () => ({ default: (await import('./pages/status.js')).Status }))
/** Loaded on demand, because wallets and signing are of no use to readers of the directory. */
const Console = lazy(async () => ({
  default: (await import('./pages/console/console.js')).Console,
}))

export function App() {
  return (
    <Shell>
      <PageBoundary>
        <Suspense fallback={<PageSkeleton />}>
          <Switch>
            <Route path="/">
              <Directory />
            </Route>
            <Route path="/merchants/:id">{({ id }) => <Merchant key={id} id={id} />}</Route>
            <Route path="/lookup">
              <Lookup />
            </Route>
            <Route path="/lookup/attestation">
              <AttestationCheck />
            </Route>
            <Route path="/status">
              <Status />
            </Route>
            <Route path="/console/*?">
              <Console />
            </Route>
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Suspense>
      </PageBoundary>
    </Shell>
  )
}

function PageSkeleton() {
  return (
    <div role="status" aria-label="Loading the page" className="space-y-4">
      <Skeleton className="h-9 w-64" />
      <Skeleton className="h-4 w-96 max-w-full" />
      <Skeleton className="mt-8 h-48 w-full !rounded-2xl" />
    </div>
  )
}
