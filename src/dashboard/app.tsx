import { Suspense } from 'react'
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter'
import { Skeleton } from './components/loaded.js'
import { lazyPage, NotFound, PageBoundary } from './components/page.js'
import { Shell } from './components/shell.js'
import { words } from './components/words.js'
import { Explore, Feed } from './pages/explore/explore.js'

const Merchant = lazyPage(async () => (await import('./pages/merchant/merchant.js')).MerchantPage)
const Directory = lazyPage(async () => (await import('./pages/directory/directory.js')).Directory)
const FindPayment = lazyPage(
  async () => (await import('./pages/payment/find-payment.js')).FindPayment,
)
const FormerLookup = lazyPage(
  async () => (await import('./pages/payment/find-payment.js')).FormerLookup,
)
const AttestationCheck = lazyPage(
  async () => (await import('./pages/payment/attestation.js')).AttestationCheck,
)
const PaymentPage = lazyPage(async () => (await import('./pages/payment/payment.js')).PaymentPage)
const TransactionPage = lazyPage(
  async () => (await import('./pages/payment/payment.js')).TransactionPage,
)
const Status = lazyPage(async () => (await import('./pages/status/status.js')).Status)
const HowItWorks = lazyPage(async () => (await import('./pages/guides/how-it-works.js')).HowItWorks)
const ForMerchants = lazyPage(
  async () => (await import('./pages/guides/merchants.js')).ForMerchants,
)
const ForAgents = lazyPage(async () => (await import('./pages/guides/agents.js')).ForAgents)
const ForOperators = lazyPage(
  async () => (await import('./pages/guides/operators.js')).ForOperators,
)
/** Loaded on demand, because wallets and signing are of no use to readers of the directory. */
const Console = lazyPage(async () => (await import('./pages/console/console.js')).Console)

export function App() {
  const [path] = useLocation()
  return (
    <Shell>
      <PageBoundary path={path}>
        <Suspense fallback={<PageSkeleton />}>
          <Switch>
            <Route path="/">
              <Home />
            </Route>
            <Route path="/directory">
              <Directory />
            </Route>
            <Route path="/merchants/:id">{({ id }) => <Merchant key={id} id={id} />}</Route>
            <Route path="/payments">
              <FindPayment>
                <Feed />
              </FindPayment>
            </Route>
            <Route path="/payments/attestation">
              <AttestationCheck />
            </Route>
            <Route path="/payments/:transaction">
              {({ transaction }) => <TransactionPage key={transaction} transaction={transaction} />}
            </Route>
            <Route path="/payments/:network/:payer/:nonce">
              {(place) => <PaymentPage key={place.nonce} {...place} />}
            </Route>
            <Route path="/lookup">
              <FormerLookup />
            </Route>
            <Route path="/lookup/attestation">
              <Redirect to="/payments/attestation" replace />
            </Route>
            <Route path="/how-it-works">
              <HowItWorks />
            </Route>
            <Route path="/for/merchants">
              <ForMerchants />
            </Route>
            <Route path="/for/agents">
              <ForAgents />
            </Route>
            <Route path="/for/operators">
              <ForOperators />
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

const FORMER_FILTERS =
  /(?:^|&)(?:query|method|pricing|maxPrice|currency|verified|official|hasSchema|tag|sort)=/

/** A search of the directory used to be at the address of the home page. */
function Home() {
  const search = useSearch()
  if (!FORMER_FILTERS.test(search)) return <Explore />
  return <Redirect to={`/directory?${search}`} replace />
}

function PageSkeleton() {
  return (
    <div role="status" aria-label={words.page.loading} className="space-y-4">
      <Skeleton className="h-9 w-64" />
      <Skeleton className="h-4 w-96 max-w-full" />
      <Skeleton className="mt-8 h-48 w-full !rounded-2xl" />
    </div>
  )
}
