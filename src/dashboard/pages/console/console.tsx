import { Route, Switch } from 'wouter'
import { NotFound, PageTitle } from '../../components/page.js'
import { AccountBar } from '../../wallet/account-bar.js'
import { WalletProvider } from '../../wallet/wallet-provider.js'
import { ListingEditor, Manage } from './manage.js'
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

function NewListing() {
  return (
    <>
      <PageTitle title="List an API">
        Paste the URL of an API that answers 402 (payment required). Your wallet signs once, at the
        end.
      </PageTitle>
      <ListingEditor />
    </>
  )
}
