import type { EndpointState, ProbeRecord } from '@arcus/protocol/answers/listings'
import type { Delivery } from '@arcus/protocol/answers/paid-checks'
import { HealthDot } from '../../components/badge.js'
import { Moment } from '../../components/moment.js'
import { Hex } from '../../components/untrusted-text.js'
import { duration, percent } from '../../format/amounts.js'
import { verdictForBuyers, verdictName, warningForBuyers } from '../../format/verdicts.js'

/** Shows the state of an endpoint, when it was checked, and what the check means for a buyer. */
export function ProbeReport({ api }: { api: EndpointState & { price: string } }) {
  const { probe, nextProbeAt } = api
  return (
    <div className="space-y-2 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-faint">
        <HealthDot api={api} />
        {probe !== null && (
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
      <Findings probe={probe} />
    </div>
  )
}

/** Says what the last probe of an endpoint means for a buyer; nothing where all is well. */
export function Findings({ probe }: { probe: Pick<ProbeRecord, 'verdict' | 'warnings'> | null }) {
  const { verdict = 'live', warnings = [] } = probe ?? {}
  const texts = warnings.flatMap((code) => warningForBuyers(code) ?? [])
  return (
    <>
      {verdict !== 'live' && (
        <p className="rounded-lg bg-warn-soft px-3 py-2 text-pretty text-warn">
          <span className="font-medium">{verdictName(verdict)}.</span> {verdictForBuyers(verdict)}
        </p>
      )}
      {texts.map((text) => (
        <p key={text} className="rounded-lg bg-warn-soft px-3 py-2 text-pretty text-warn">
          {text}
        </p>
      ))}
    </>
  )
}

/** What was wrong, in words that follow "not delivered:". */
const faults: Record<Delivery['last']['reason'], string> = {
  delivered: 'delivered',
  bad_status: 'it answered with an error',
  too_late: 'it did not answer in time',
  wrong_type: 'the answer has another content type than it says',
  wrong_shape: 'the answer does not have the form that it says',
  too_large: 'the answer is too large',
  redirected: 'it leads to another address',
  asked_again: 'it asked for another payment',
  price_changed: 'it asked for another price, which was not paid',
  no_answer: 'it took the payment and closed the connection',
  interrupted: 'the check was interrupted',
}

/** Shows what this service found when it bought from an endpoint itself. */
export function DeliveryReport({ delivery }: { delivery: Delivery }) {
  const { last, share, outdated } = delivery
  const { at, delivered, reason, ms, transaction } = last
  const when = <Moment at={at * 1000} isWhole={!delivered} />
  return (
    <p
      className={`flex flex-wrap items-center gap-x-2 text-sm ${
        delivered ? 'text-muted' : 'rounded-lg bg-warn-soft px-3 py-2 text-warn'
      }`}
    >
      {delivered ? (
        <span>
          Bought here {when}: delivered{ms !== null && ` in ${duration(ms)}`}
        </span>
      ) : (
        <span>
          Bought here {when}: not delivered, {faults[reason]}
        </span>
      )}
      {transaction !== null && <Hex hex={transaction} kind="tx" />}
      {share < 1 && <span>{percent(share)} of the last checks delivered</span>}
      {outdated && <span>It has changed the form of its answers since.</span>}
    </p>
  )
}
