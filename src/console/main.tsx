import './styles.css'
import { ArcusError } from '@arcus/client/calls'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ComponentType, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { Route, Switch, useLocation } from 'wouter'
import { Skeleton } from './components/loaded.js'
import { Clock } from './components/moment.js'
import { lazyPage, NotFound, PageBoundary } from './components/page.js'
import { Shell } from './components/shell.js'
import { Home } from './pages/directory/home.js'
import { type PublicPage, publicPages } from './public-pages.js'

const RETRIES = 2

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal would be repeated. Only network errors and failures of the service may pass.
      retry: (count, error) =>
        count < RETRIES && !(error instanceof ArcusError && error.status > 0 && error.status < 500),
      // A service on the same machine needs no network.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

const Merchant = lazyPage(() => import('./pages/merchant/merchant.js'), 'MerchantPage')
const Payments = lazyPage(() => import('./pages/payment/payments.js'), 'PaymentsPage')
const Buyer = lazyPage(() => import('./pages/payment/payments.js'), 'BuyerPage')
const PaymentPage = lazyPage(() => import('./pages/payment/payment.js'), 'PaymentPage')
const TransactionPage = lazyPage(() => import('./pages/payment/payment.js'), 'TransactionPage')
const Status = lazyPage(() => import('./pages/status/status.js'), 'StatusPage')
const HowItWorks = lazyPage(() => import('./pages/docs/docs.js'), 'HowItWorks')
const Quickstart = lazyPage(() => import('./pages/docs/docs.js'), 'Quickstart')
const Operations = lazyPage(() => import('./pages/docs/operations.js'), 'Operations')
/** Loaded on demand, because wallets and signing are of no use to readers of the directory. */
const Console = lazyPage(() => import('./pages/owner/owner-console.js'), 'ConsolePages')

const componentOf: Record<PublicPage, ComponentType> = {
  '/': Home,
  '/payments': Payments,
  '/status': Status,
  '/how-it-works': HowItWorks,
  '/quickstart': Quickstart,
  '/operations': Operations,
}

function App() {
  const [path] = useLocation()
  return (
    <Shell>
      <PageBoundary path={path}>
        <Suspense fallback={<PageSkeleton />}>
          <Switch>
            {publicPages.map((path) => (
              <Route key={path} path={path} component={componentOf[path]} />
            ))}
            <Route path="/merchants/:id">{({ id }) => <Merchant key={id} id={id} />}</Route>
            <Route path="/payments/:transaction">
              {({ transaction }) => <TransactionPage key={transaction} transaction={transaction} />}
            </Route>
            <Route path="/payments/:network/:payer/:nonce">
              {(place) => <PaymentPage key={place.nonce} {...place} />}
            </Route>
            <Route path="/buyers/:address">
              {({ address }) => <Buyer key={address} address={address} />}
            </Route>
            <Route path="/console/*?" component={Console} />
            <Route component={NotFound} />
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
      <Skeleton isCard className="mt-8 h-48 w-full" />
    </div>
  )
}

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Clock>
        <App />
      </Clock>
    </QueryClientProvider>
  </StrictMode>,
)
