import { Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { lazyPage, NotFound } from '../../components/page.js'
import { AccountBar } from '../../wallet/account-bar.js'
import { WalletProvider } from '../../wallet/wallet-provider.js'
import { LoadingPart, Manage, Sell } from './manage.js'

const Overview = lazyPage(() => import('./overview.js'), 'Overview')

/** The pages of owners: the only ones that need a wallet. */
export function ConsolePages() {
  return (
    <WalletProvider>
      <AccountBar />
      <Switch>
        <Route path="/console">
          <Suspense fallback={<LoadingPart />}>
            <Overview />
          </Suspense>
        </Route>
        <Route path="/console/new">
          <Sell />
        </Route>
        <Route path="/console/:id/:part?">
          {({ id, part }) => <Manage key={id} id={id} part={part ?? 'activity'} />}
        </Route>
        <Route>
          <NotFound />
        </Route>
      </Switch>
    </WalletProvider>
  )
}
