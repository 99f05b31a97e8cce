import { type Connector, useConnect, useConnectors } from 'wagmi'
import { Spinner } from '../components/button.js'
import { Notice } from '../components/card.js'
import { Dialog } from '../components/dialog.js'
import { Glyph } from '../components/icons.js'
import { oneLine } from '../format/untrusted-text.js'
import { PhoneWallets } from './phone-wallets.js'
import { describeError } from './wallet-error.js'

const OLD_PROVIDER = 'injected'

/** Offers the wallets of this browser by name and icon. */
export function WalletPicker({ onClose }: { onClose: () => void }) {
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
