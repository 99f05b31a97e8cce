import type { EndpointState } from '@arcus/protocol/answers/listings'
import { StatusDot } from '../../components/badge.js'
import { Moment } from '../../components/moment.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import {
  verdictForBuyers,
  verdictName,
  warningForBuyers,
  warningText,
} from '../../format/verdicts.js'

type ProbeState = Pick<EndpointState, 'status' | 'probe' | 'nextProbeAt'>

/** Shows the result of the last probe of an endpoint: what it means for a buyer, or `forOwner` how to correct it. */
export function ProbeReport({
  status,
  probe,
  nextProbeAt,
  forOwner = false,
}: ProbeState & { forOwner?: boolean }) {
  const textOf = forOwner ? warningText : warningForBuyers
  const warnings = probe?.warnings.flatMap((code) => textOf(code) ?? []) ?? []
  return (
    <div className="space-y-2 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-faint">
        <StatusDot status={status} probe={probe} />
        {probe === null ? (
          <span>not checked yet</span>
        ) : (
          <span>
            checked <Moment at={probe.checkedAt * 1000} />
          </span>
        )}
        {nextProbeAt !== null && (
          <span>
            next check <Moment at={nextProbeAt * 1000} />
          </span>
        )}
      </div>
      {probe !== null && probe.verdict !== 'live' && (
        <p className="rounded-lg bg-warn-soft px-3 py-2 text-pretty text-warn">
          <span className="font-medium">{verdictName(probe.verdict)}.</span>{' '}
          {forOwner ? (
            <UntrustedText text={probe.message} max={600} />
          ) : (
            verdictForBuyers(probe.verdict)
          )}
        </p>
      )}
      {warnings.map((text) => (
        <p key={text} className="rounded-lg bg-warn-soft px-3 py-2 text-pretty text-warn">
          {text}
        </p>
      ))}
    </div>
  )
}
