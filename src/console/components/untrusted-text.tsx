import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { settingsQuery } from '../api/queries.js'
import { manyLines, oneLine, safeHref, shortHex, splitUrl } from '../format/untrusted-text.js'
import { MethodChip } from './badge.js'
import { CopyButton } from './button.js'
import { Icon } from './icons.js'

/** Shows a stranger's text: shortened, without hidden characters, and isolated from the direction of the text around it. */
export function UntrustedText({
  text,
  max = 100,
  lines = false,
}: {
  text: string
  max?: number
  lines?: boolean
}) {
  return (
    <bdi className={lines ? 'block whitespace-pre-line' : ''}>
      {lines ? manyLines(text, max) : oneLine(text, max)}
    </bdi>
  )
}

/** Shows a URL as text with its host emphasized. */
export function UrlText({ url, max = 120 }: { url: string; max?: number }) {
  const { host, rest } = splitUrl(url)
  return (
    <bdi dir="ltr" className="font-mono text-xs text-muted" title={oneLine(url, 2_048)}>
      <span className="text-ink">{oneLine(host, 80)}</span>
      {oneLine(rest, max)}
    </bdi>
  )
}

/** Shows method and URL of an endpoint on one line, cut where the line ends. */
export function EndpointLine({ method, url }: { method: string; url: string }) {
  return (
    <span className="flex min-w-0 items-center gap-2">
      <MethodChip method={method} />
      <span className="min-w-0 truncate">
        <UrlText url={url} />
      </span>
    </span>
  )
}

/** Links to another site. An address that is neither http nor https becomes plain text. */
export function OutLink({ href, children }: { href: string; children: React.ReactNode }) {
  const safe = safeHref(href)
  if (safe === undefined) return <span>{children}</span>
  return (
    <a
      href={safe}
      target="_blank"
      rel="noopener noreferrer nofollow ugc"
      className="inline-flex items-center gap-1 underline decoration-line-strong underline-offset-4 hover:text-accent hover:decoration-current"
    >
      {children}
      <Icon name="out" size={12} />
      <span className="sr-only">(opens another site)</span>
    </a>
  )
}

interface HexProps {
  hex: string
  kind: 'address' | 'tx'
  /** CAIP-2. The default is the network of the listings. */
  network?: string
  isFull?: boolean
}

/**
 * Shows an address or hash: shortened, whole on hover, with a button to copy it. A short transaction hash links to the
 * page of its payment, everything else to the explorer of the network, if it has one.
 */
export function Hex({ hex, kind, network, isFull = false }: HexProps) {
  const { data: settings } = useQuery(settingsQuery)
  const known = settings?.networks.find((it) =>
    network === undefined ? it.listed : it.network === network,
  )
  const text = (
    <span className={`font-mono text-xs ${isFull ? 'break-all' : 'whitespace-nowrap'}`} title={hex}>
      {isFull ? hex : shortHex(hex)}
    </span>
  )
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      {kind === 'tx' && !isFull ? (
        <Link
          href={`/payments/${hex}`}
          className="underline decoration-line-strong underline-offset-4 hover:text-accent hover:decoration-current"
        >
          {text}
        </Link>
      ) : known?.explorerUrl ? (
        <OutLink href={`${known.explorerUrl}/${kind}/${hex}`}>{text}</OutLink>
      ) : (
        text
      )}
      <CopyButton text={hex} name={kind === 'tx' ? 'transaction hash' : 'address'} />
    </span>
  )
}
