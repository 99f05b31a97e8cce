import { Route, Switch } from 'wouter'
import { AccountBar } from '../../wallet/account-bar.js'
import { WalletProvider } from '../../wallet/wallet-provider.js'
import { NotFound } from '../not-found.js'
import { Manage } from './manage.js'
import { NewListing } from './new-listing.js'
import { Overview } from './overview.js'

/** Where owners work: everything that needs a wallet, and nothing else does. */
export function Console() {
  return (
    <WalletProvider>
      <AccountBar />
      <Switch>
        <Route path="/console">
          <Overview />
        </Route>
        <Route path="/console/new">
          <NewListing />
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
