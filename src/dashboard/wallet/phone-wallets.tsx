import { OutLink } from '../components/untrusted-text.js'

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
export function PhoneWallets({ isOpen }: { isOpen: boolean }) {
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
