import { Route, Switch } from 'wouter'
import { NotFound } from '../../components/page.js'
import { AccountBar } from '../../wallet/account-bar.js'
import { WalletProvider } from '../../wallet/wallet-provider.js'
import { Sell } from './endpoints.js'
import { Manage } from './manage.js'
import { Overview } from './overview.js'

/** The pages of owners: the only ones that need a wallet. */
export function ConsolePages() {
  return (
    <WalletProvider>
      <AccountBar />
      <Switch>
        <Route path="/console">
          <Overview />
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
