import type { ReactNode } from 'react'
import type { EndpointStatus } from '../api/types.js'
import { statusNames } from '../format/verdicts.js'

const tones = {
  plain: 'bg-sunken text-muted',
  accent: 'bg-accent-soft text-accent',
  ok: 'bg-ok-soft text-ok',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
}

export type Tone = keyof typeof tones

export function Badge({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone
  title?: string
  children: ReactNode
}) {
  return (
    <span
      title={title}
      className={`inline-flex h-5 shrink-0 items-center gap-1 rounded-full px-2 text-2xs font-medium ${tones[tone]}`}
    >
      {children}
    </span>
  )
}

const dots = { ok: 'bg-ok', warn: 'bg-warn', bad: 'bg-bad', plain: 'bg-faint', accent: 'bg-accent' }

/** A dot with its word: colour alone says nothing. */
export function Dot({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1.5 text-xs whitespace-nowrap text-muted">
      <span className={`size-2 shrink-0 rounded-full ${dots[tone]}`} aria-hidden="true" />
      {children}
    </span>
  )
}

const statusTones = { live: 'ok', unverified: 'warn', failing: 'bad' } as const

/** Warnings after which a live endpoint is not as a buyer expects it to be. */
const buyersWarnings = [
  'price_drift',
  'amount_zero',
  'wrong_domain',
  'scheme_not_settled',
  'foreign_pay_to',
]

/** Green is kept for what the last look found live, asking for what is listed. */
export function StatusDot({
  status,
  look = null,
  isAsListed = true,
}: {
  status: EndpointStatus
  look?: { verdict: string; warnings: readonly string[] } | null
  isAsListed?: boolean
}) {
  const isSound =
    look === null ||
    (look.verdict === 'live' && !look.warnings.some((code) => buyersWarnings.includes(code)))
  const tone = status === 'live' && !(isSound && isAsListed) ? 'warn' : statusTones[status]
  return <Dot tone={tone}>{statusNames[status]}</Dot>
}

export function MethodChip({ method }: { method: string }) {
  return (
    <span className="inline-flex h-5 shrink-0 items-center rounded border border-line bg-sunken px-1.5 font-mono text-2xs font-medium text-muted">
      {method}
    </span>
  )
}

/** Who stands behind a listing: the operator, or nobody but its owner. */
export function MerchantBadges({
  official,
  partner,
  unclaimed,
  isVerified,
}: {
  official: boolean
  partner: boolean
  unclaimed: boolean
  isVerified: boolean
}) {
  return (
    <>
      {official && (
        <Badge tone="accent" title="Run by the operator; its revenue goes to the buyback address.">
          Official
        </Badge>
      )}
      {partner && (
        <Badge tone="accent" title="Named a partner by the operator.">
          Partner
        </Badge>
      )}
      {isVerified && (
        <Badge tone="ok" title="The owner controls the ERC-8004 agent that the listing names.">
          Verified agent
        </Badge>
      )}
      {unclaimed ? (
        <Badge title="Found in a settled payment; nobody has claimed it with the paid key.">
          Unclaimed
        </Badge>
      ) : (
        !official && (
          <Badge title="Listed by its owner with a signature. Nobody has reviewed it.">
            Self-serve, unreviewed
          </Badge>
        )
      )}
    </>
  )
}
