import { Suspense } from 'react'
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter'
import { Skeleton } from './components/loaded.js'
import { lazyPage, NotFound, PageBoundary } from './components/page.js'
import { Shell } from './components/shell.js'
import { words } from './components/words.js'
import { Explore, Feed } from './pages/explore/explore.js'

const Merchant = lazyPage(() => import('./pages/merchant/merchant.js'), 'MerchantPage')
const Directory = lazyPage(() => import('./pages/directory/directory.js'), 'DirectoryPage')
const FindPayment = lazyPage(() => import('./pages/payment/find-payment.js'), 'FindPayment')
const FormerLookup = lazyPage(() => import('./pages/payment/find-payment.js'), 'FormerLookup')
const AttestationCheck = lazyPage(
  () => import('./pages/payment/attestation.js'),
  'AttestationCheck',
)
const PaymentPage = lazyPage(() => import('./pages/payment/payment.js'), 'PaymentPage')
const TransactionPage = lazyPage(() => import('./pages/payment/payment.js'), 'TransactionPage')
const Status = lazyPage(() => import('./pages/status/status.js'), 'StatusPage')
const HowItWorks = lazyPage(() => import('./pages/guides/guides.js'), 'HowItWorks')
const ForMerchants = lazyPage(() => import('./pages/guides/guides.js'), 'ForMerchants')
const ForAgents = lazyPage(() => import('./pages/guides/guides.js'), 'ForAgents')
const ForOperators = lazyPage(() => import('./pages/guides/guides.js'), 'ForOperators')
/** Loaded on demand, because wallets and signing are of no use to readers of the directory. */
const Console = lazyPage(() => import('./pages/console/console.js'), 'ConsolePages')

export function App() {
  const [path] = useLocation()
  return (
    <Shell>
      <PageBoundary path={path}>
        <Suspense fallback={<PageSkeleton />}>
          <Switch>
            <Route path="/" component={Home} />
            <Route path="/directory" component={Directory} />
            <Route path="/merchants/:id">{({ id }) => <Merchant key={id} id={id} />}</Route>
            <Route path="/payments">
              <FindPayment>
                <Feed />
              </FindPayment>
            </Route>
            <Route path="/payments/attestation" component={AttestationCheck} />
            <Route path="/payments/:transaction">
              {({ transaction }) => <TransactionPage key={transaction} transaction={transaction} />}
            </Route>
            <Route path="/payments/:network/:payer/:nonce">
              {(place) => <PaymentPage key={place.nonce} {...place} />}
            </Route>
            <Route path="/lookup" component={FormerLookup} />
            <Route path="/lookup/attestation">
              <Redirect to="/payments/attestation" replace />
            </Route>
            <Route path="/how-it-works" component={HowItWorks} />
            <Route path="/for/merchants" component={ForMerchants} />
            <Route path="/for/agents" component={ForAgents} />
            <Route path="/for/operators" component={ForOperators} />
            <Route path="/status" component={Status} />
            <Route path="/console/*?" component={Console} />
            <Route component={NotFound} />
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
