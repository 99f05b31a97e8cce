import { type Connector, useConnect, useConnectors } from 'wagmi'
import { Spinner } from '../components/button.js'
import { Notice } from '../components/card.js'
import { Dialog } from '../components/dialog.js'
import { Glyph } from '../components/icons.js'
import { OutLink } from '../components/untrusted-text.js'
import { oneLine } from '../format/untrusted-text.js'
import { describeError } from './wallet-error.js'

const OLD_PROVIDER = 'injected'

/** Offers the wallets of this browser by name and icon. */
export function WalletDialog({ onClose }: { onClose: () => void }) {
  const connectors = useWallets()
  const { mutate: connect, error, isPending, variables } = useConnect()
  return (
    <Dialog title="Connect a wallet" onClose={onClose}>
      {connectors.length === 0 ? (
        <p className="text-sm text-pretty text-muted">
          No wallet was found in this browser. Install one as an extension and load this page again,
          or open the page in the browser of a wallet app.
        </p>
      ) : (
        <ul className="space-y-2">
          {connectors.map((connector) => (
            <li key={connector.uid}>
              <button
                type="button"
                disabled={isPending}
                onClick={() => connect({ connector }, { onSuccess: onClose })}
                className="flex w-full items-center gap-3 rounded-xl border border-line px-3 py-2.5 text-left text-sm font-medium transition-colors hover:border-line-strong hover:bg-sunken disabled:opacity-60"
              >
                <WalletIcon connector={connector} />
                <span className="min-w-0 flex-1 truncate">
                  <bdi>{nameOf(connector)}</bdi>
                </span>
                {isPending && variables.connector === connector && <Spinner />}
              </button>
            </li>
          ))}
        </ul>
      )}
      {isPending && (
        <p role="status" className="mt-3 text-sm text-muted">
          Answer in the wallet.
        </p>
      )}
      {error !== null && (
        <div className="mt-3">
          <Notice tone="bad">{describeError(error)}</Notice>
        </div>
      )}
      <PhoneWallets isOpen={connectors.length === 0} />
      <p className="mt-4 text-xs text-pretty text-muted">
        Arcus sees your address and asks for signatures. Neither a listing nor a payment needs a
        transaction.
      </p>
    </Dialog>
  )
}

/** Returns the wallets that announced themselves (EIP-6963), or `window.ethereum` if none did. */
function useWallets(): Connector[] {
  const connectors = useConnectors()
  const announced = connectors.filter(({ id }) => id !== OLD_PROVIDER)
  if (announced.length > 0) return announced
  return 'ethereum' in window ? [...connectors] : []
}

function nameOf({ id, name }: Connector): string {
  return id === OLD_PROVIDER ? 'Browser wallet' : oneLine(name, 40)
}

/** Shows the icon of a wallet if it is a data URI, as the standard asks, so that no other host is called. */
function WalletIcon({ connector }: { connector: Connector }) {
  const { icon, id, name } = connector
  return icon?.startsWith('data:image/') === true ? (
    <img src={icon.trim()} alt="" width={32} height={32} className="size-8 rounded-lg" />
  ) : (
    <Glyph of={id + name} size={32} />
  )
}

/** Addresses that open a page inside the app of a wallet, as their makers document them. */
const apps = [
  [
    'MetaMask',
    (page: string) => `https://link.metamask.io/dapp/${page.replace(/^https?:\/\//, '')}`,
  ],
  [
    'Coinbase Wallet',
    (page: string) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(page)}`,
  ],
  [
    'Trust Wallet',
    (page: string) =>
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(page)}`,
  ],
] as const

/** Offers wallets of a phone by links into their apps, where there is a touch screen. */
function PhoneWallets({ isOpen }: { isOpen: boolean }) {
  const page = location.href.split('#', 1)[0] ?? ''
  return (
    <details open={isOpen} className="mt-4 hidden text-sm pointer-coarse:block">
      <summary className="w-fit font-medium text-muted hover:text-ink">
        A wallet on your phone
      </summary>
      <ul className="mt-3 flex flex-col gap-3">
        {apps.map(([name, linkTo]) => (
          <li key={name}>
            <OutLink href={linkTo(page)}>Open in {name}</OutLink>
          </li>
        ))}
      </ul>
    </details>
  )
}
