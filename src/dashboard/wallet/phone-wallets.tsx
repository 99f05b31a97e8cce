import { OutLink } from '../components/untrusted-text.js'
import { encodeQr } from './qr.js'
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

/** Offers wallets of a phone: links into their apps where there is a touch screen, else a code that leads a phone here. */
export function PhoneWallets({ isOpen }: { isOpen: boolean }) {
  const page = location.href.split('#', 1)[0] ?? ''
  return (
    <details open={isOpen} className="mt-4 text-sm">
      <summary className="w-fit font-medium text-muted hover:text-ink">{words.onPhone}</summary>
      <ul className="mt-3 hidden flex-col gap-3 pointer-coarse:flex">
        {apps.map(([name, linkTo]) => (
          <li key={name}>
            <OutLink href={linkTo(page)}>{words.openIn(name)}</OutLink>
          </li>
        ))}
      </ul>
      <div className="mt-3 space-y-2 pointer-coarse:hidden">
        <QrCode text={page} />
        <p className="text-xs text-pretty text-muted">{words.scan}</p>
      </div>
    </details>
  )
}

/** Draws a code that cameras read, dark on white in both themes. A text that is too long is cut to its origin. */
function QrCode({ text }: { text: string }) {
  const rows = encodeQr(text) ?? encodeQr(new URL(text).origin)
  if (rows === undefined) return null
  const modules = rows.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x + 4} ${y + 4}h1v1h-1z`] : [])),
  )
  const size = rows.length + 8
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={words.code}
      className="size-44 rounded-lg"
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={modules.join('')} fill="#000" />
    </svg>
  )
}
