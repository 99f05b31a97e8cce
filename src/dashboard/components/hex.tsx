import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { settingsQuery } from '../api/queries.js'
import { shortHex } from '../format/hostile-text.js'
import { CopyButton } from './copy-button.js'
import { OutLink } from './stranger-text.js'

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
