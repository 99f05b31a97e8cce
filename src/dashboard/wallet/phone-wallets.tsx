import { OutLink } from '../components/untrusted-text.js'
import { walletWords as words } from './words.js'

/** Addresses that open a page inside the app of a wallet, as their makers document them. */
const apps = [
  [
    words.apps.metaMask,
    (page: string) => `https://link.metamask.io/dapp/${page.replace(/^https?:\/\//, '')}`,
  ],
  [
    words.apps.coinbase,
    (page: string) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(page)}`,
  ],
  [
    words.apps.trust,
    (page: string) =>
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(page)}`,
  ],
] as const

/** Offers wallets of a phone by links into their apps, where there is a touch screen. */
export function PhoneWallets({ isOpen }: { isOpen: boolean }) {
  const page = location.href.split('#', 1)[0] ?? ''
  return (
    <details open={isOpen} className="mt-4 hidden text-sm pointer-coarse:block">
      <summary className="w-fit font-medium text-muted hover:text-ink">{words.onPhone}</summary>
      <ul className="mt-3 flex flex-col gap-3">
        {apps.map(([name, linkTo]) => (
          <li key={name}>
            <OutLink href={linkTo(page)}>{words.openIn(name)}</OutLink>
          </li>
        ))}
      </ul>
    </details>
  )
}
