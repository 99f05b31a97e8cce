import type { ReactNode } from 'react'
import { healthOf, type JudgedApi } from '../format/health.js'
import { Hint } from './hint.js'

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
  const badge = (
    <span
      className={`inline-flex h-5 shrink-0 items-center gap-1 rounded-full px-2 text-2xs font-medium ${tones[tone]}`}
    >
      {children}
    </span>
  )
  return title === undefined ? badge : <Hint text={title}>{badge}</Hint>
}

const dots = { ok: 'bg-ok', warn: 'bg-warn', bad: 'bg-bad', plain: 'bg-faint', accent: 'bg-accent' }

/** Shows a state as a dot with a word, because colour alone says nothing. */
export function Dot({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1.5 text-xs whitespace-nowrap text-muted">
      <span className={`dot size-2 shrink-0 rounded-full ${dots[tone]}`} aria-hidden="true" />
      {children}
    </span>
  )
}

/** Shows the one state of an API. */
export function HealthDot({ api }: { api: JudgedApi }) {
  const { name, tone } = healthOf(api)
  return <Dot tone={tone}>{name}</Dot>
}

export function MethodChip({ method }: { method: string }) {
  return (
    <span className="inline-flex h-5 shrink-0 items-center rounded border border-line bg-sunken px-1.5 font-mono text-2xs font-medium text-muted">
      {method}
    </span>
  )
}

/** Warnings about who stands behind a listing, and not about an endpoint. */
const publicWarnings: Partial<Record<string, string>> = {
  pay_to_unproven: 'Unproven',
  confusable_name: 'Look-alike name',
}

/** Returns whether a warning is about who stands behind the listing. */
export function isPublicWarning(code: string): boolean {
  return publicWarnings[code] !== undefined
}

/** Shows why to be careful with a listing. Without its message a badge is no place to press. */
export function WarningBadges({
  warnings,
}: {
  warnings: readonly { code: string; message?: string }[]
}) {
  return warnings.map(({ code, message }) =>
    isPublicWarning(code) ? (
      <Badge key={code} tone="warn" {...(message !== undefined && { title: message })}>
        {publicWarnings[code]}
      </Badge>
    ) : null,
  )
}

/** Says who stands behind an API: the operator, or only its seller. */
export function MerchantBadges({
  official,
  partner,
  unclaimed,
  warnings,
  checks,
}: {
  official: boolean
  partner: boolean
  unclaimed: boolean
  /** Reasons to be careful, for everybody. */
  warnings: readonly { code: string; message: string }[]
  /** Whether each check of the agent that the listing names was passed. */
  checks: { control: boolean; pay: boolean; file: boolean; domain: boolean } | undefined
}) {
  const passed = Object.values(checks ?? {})
  return (
    <>
      {official && (
        <Badge
          tone="accent"
          title="The operator of this site sells this API. Its revenue goes to the buyback address."
        >
          Official
        </Badge>
      )}
      {partner && (
        <Badge tone="accent" title="The operator of this site named this seller a partner.">
          Partner
        </Badge>
      )}
      {checks?.control === true && (
        <Badge tone="ok" title="The seller controls the ERC-8004 agent that the listing names.">
          Verified agent: {passed.filter(Boolean).length} of {passed.length} checks
        </Badge>
      )}
      {unclaimed && (
        <Badge title="Arcus found this API in a settled payment. Nobody has claimed it with the wallet that is paid.">
          Unclaimed
        </Badge>
      )}
      <WarningBadges warnings={warnings} />
    </>
  )
}
