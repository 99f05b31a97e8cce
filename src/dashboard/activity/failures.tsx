import type { ActivitySummary, ReasonCount } from '../api/activity-types.js'
import { exactCount } from '../format/amounts.js'
import { reasonName } from '../format/verdicts.js'

const SHOWN = 6

/** Why payments failed, and why others were refused, the commonest first. */
export function Failures({ failures, refusals }: Pick<ActivitySummary, 'failures' | 'refusals'>) {
  return (
    <>
      {failures.length === 0 ? (
        <p className="text-sm text-muted">Nothing failed in this range.</p>
      ) : (
        <Reasons reasons={failures} />
      )}
      {refusals.length > 0 && (
        <>
          <h4 className="mt-5 mb-1 text-sm font-semibold">Refused settles</h4>
          <p className="mb-3 text-xs text-muted">
            Never found sound, used before, or one too many of a payer. They are in no rate.
          </p>
          <Reasons reasons={refusals} />
        </>
      )}
    </>
  )
}

function Reasons({ reasons }: { reasons: readonly ReasonCount[] }) {
  const most = Math.max(...reasons.map(({ count }) => count))
  const rest = reasons.slice(SHOWN).reduce((sum, { count }) => sum + count, 0)
  return (
    <ul className="space-y-3">
      {reasons.slice(0, SHOWN).map(({ kind, reason, count }) => (
        <li key={`${kind} ${reason}`}>
          <div className="flex items-baseline justify-between gap-3 text-sm">
            <span title={reason} className="min-w-0 break-words">
              {reasonName(reason)} <span className="text-xs text-faint">at {kind}</span>
            </span>
            <span className="tabular text-muted">{exactCount(count)}</span>
          </div>
          <meter
            className="sr-only"
            min={0}
            max={most}
            value={count}
            aria-label={`${reasonName(reason)}: ${count}`}
          />
          <svg className="mt-1 block h-1.5 w-full" aria-hidden="true" preserveAspectRatio="none">
            <rect width="100%" height="100%" rx="3" className="fill-sunken" />
            <rect width={`${(count / most) * 100}%`} height="100%" rx="3" className="fill-bad" />
          </svg>
        </li>
      ))}
      {rest > 0 && <li className="text-xs text-muted">and {exactCount(rest)} more</li>}
    </ul>
  )
}
