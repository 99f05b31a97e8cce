import { manyLines, oneLine, safeHref, splitUrl, shortHex } from '../format/untrusted-text.js'
import { Icon } from './icons.js'
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { settingsQuery } from "../api/queries.js";
import { CopyButton } from "./button.js";

/** A stranger's words: no direction or invisible marks, bounded, and kept from turning what stands around them. */
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

/** An address of the web as text, its host standing out. */
export function UrlText({ url, max = 120 }: { url: string; max?: number }) {
  const { host, rest } = splitUrl(url)
  return (
    <bdi dir="ltr" className="font-mono text-xs text-muted" title={oneLine(url, 2_048)}>
      <span className="text-ink">{oneLine(host, 80)}</span>
      {oneLine(rest, max)}
    </bdi>
  )
}

/** A link to somewhere else; plain text when the address is not one of the web. */
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
  /** CAIP-2; the network that listings are about unless said. */
  network?: string
  isFull?: boolean
}

/**
 * An address or hash: short, whole on hover, to copy, and linked where the network has an explorer. Where it has none,
 * a short transaction hash leads to what this service knows of it.
 */
export function Hex({ hex, kind, network, isFull = false }: HexProps) {
  const { data: settings } = useQuery(settingsQuery)
  const home = settings?.networks.find((it) =>
    network === undefined ? it.listed : it.network === network,
  )
  const text = (
    <span className={`font-mono text-xs ${isFull ? 'break-all' : 'whitespace-nowrap'}`} title={hex}>
      {isFull ? hex : shortHex(hex)}
    </span>
  )
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      {home?.explorerUrl ? (
        <OutLink href={`${home.explorerUrl}/${kind}/${hex}`}>{text}</OutLink>
      ) : kind === 'tx' && !isFull ? (
        <Link href={`/lookup?tx=${hex}`} className="hover:text-accent hover:underline">
          {text}
        </Link>
      ) : (
        text
      )}
      <CopyButton text={hex} name={kind === 'tx' ? 'transaction hash' : 'address'} />
    </span>
  )
}
