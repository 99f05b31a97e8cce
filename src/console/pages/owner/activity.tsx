import { ArcusError } from '@arcus/client/calls'
import type { ActivitySummary, UnlistedPayment } from '@arcus/protocol/answers/activity'
import type { MerchantView } from '@arcus/protocol/answers/listings'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useMemo } from 'react'
import { activityBeforeQuery, activityQuery } from '../../api/activity-queries.js'
import { ButtonLink } from '../../components/button.js'
import { Card, Empty, Section } from '../../components/card.js'
import { Stat } from '../../components/facts.js'
import { Segmented } from '../../components/field.js'
import { Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import {
  counted,
  exactCount,
  exactUsdc,
  percent,
  shortCount,
  shortUsd,
} from '../../format/amounts.js'
import { failureText } from '../../format/failures.js'
import { forgetSession } from '../../wallet/session.js'
import { Alerts, useNewestActivity } from './activity-alerts.js'
import { ActivityChart } from './activity-chart.js'
import { FilterBar, type NamedEndpoint, useFilter, views } from './activity-filter.js'
import { ActivityTable, TableControls } from './activity-table.js'
import { SignedIn } from './signed-in.js'

const Breakdown = lazy(() =>
  import('./activity-breakdown.js').then((it) => ({ default: it.Breakdown })),
)

/** Shows the payments of a listing to its owner. They are private, so the wallet signs in to read them. */
export function Activity({ merchant }: { merchant: MerchantView }) {
  if (merchant.owner === null) return null
  if (merchant.payToProof === null) return <Unproven merchant={merchant} />
  return (
    <SignedIn
      owner={merchant.owner}
      title="Sign in to see payments"
      skeleton={<PanelSkeleton label="Loading activity" />}
    >
      <ActivityPanel merchant={merchant} />
    </SignedIn>
  )
}

/** Asks for the confirmation of the payout address. Without it the service shows its payments to nobody. */
function Unproven({ merchant: { id, payTo } }: { merchant: MerchantView }) {
  return (
    <Card>
      <Empty
        title="Payments are not counted here yet"
        action={
          <ButtonLink variant="primary" href={`/console/${encodeURIComponent(id)}/settings`}>
            Confirm the payout address
          </ButtonLink>
        }
      >
        Buyers pay <Hex hex={payTo} kind="address" />. That address has not confirmed the owner yet:
        its key has to sign once. Payments after that appear here.
      </Empty>
    </Card>
  )
}

function PanelSkeleton({ label }: { label: string }) {
  return (
    <div role="status" aria-label={label} className="space-y-4">
      <Skeleton isCard className="h-44 w-full sm:h-28" />
      <Skeleton isCard className="h-dvh w-full" />
    </div>
  )
}

/** Shows figures, chart, failures and tables of the payments, all under the same filter. */
function ActivityPanel({ merchant }: { merchant: MerchantView }) {
  const merchantId = merchant.id
  const endpoints = useMemo(
    () =>
      merchant.endpoints.map(({ title, method, state }): NamedEndpoint => {
        return { id: state.id, title, method, lastPaid: state.usage?.lastPaid ?? null }
      }),
    [merchant.endpoints],
  )
  const chosen = useFilter(endpoints)
  const newest = useNewestActivity(merchantId)
  const query = useQuery(activityQuery(merchantId, chosen.filter))
  const before = useQuery(activityBeforeQuery(merchantId, chosen.filter, query.data))
  useSessionEnd(newest.error ?? query.error)

  return (
    <Section title="Activity" aside={<FilterBar endpoints={endpoints} chosen={chosen} />}>
      <Alerts merchant={merchant} newest={newest.data?.items ?? []} />
      {/* A warning above the figures would move them, so they wait for what may cause one. */}
      <Loaded
        query={newest.isPending ? { ...query, data: undefined } : query}
        skeleton={<PanelSkeleton label="Loading the figures" />}
      >
        {(answer) => (
          <div className="space-y-4">
            <ActivityFigures summary={answer.summary} before={before.data?.summary} />
            <Unlisted payments={answer.unlisted} />
            <div className="grid gap-4 lg:grid-cols-3">
              <Card className="min-w-0 p-4 sm:p-5 lg:col-span-2">
                <ActivityChart
                  answer={answer}
                  measure={chosen.chart}
                  onMeasure={(chart) => chosen.choose({ chart })}
                />
              </Card>
              <Card className="p-4 sm:p-5">
                <Failures
                  {...answer.summary}
                  onShow={(show) => chosen.choose({ show, view: '' })}
                />
              </Card>
            </div>
            <Card>
              <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-3">
                <Segmented
                  legend="Table"
                  value={chosen.view}
                  options={views}
                  onChange={(view) => chosen.choose({ view })}
                />
                {chosen.view === '' && (
                  <span className="flex flex-wrap gap-2">
                    <TableControls merchantId={merchantId} chosen={chosen} />
                  </span>
                )}
              </div>
              {chosen.view === '' ? (
                <ActivityTable merchantId={merchantId} endpoints={endpoints} chosen={chosen} />
              ) : (
                <Suspense>
                  <Breakdown merchantId={merchantId} endpoints={endpoints} chosen={chosen} />
                </Suspense>
              )}
            </Card>
          </div>
        )}
      </Loaded>
    </Section>
  )
}

/** Forgets a session that has ended, so that the page asks to sign in again instead of showing old figures. */
function useSessionEnd(error: Error | null): void {
  const client = useQueryClient()
  const hasEnded = error instanceof ArcusError && error.status === 401
  useEffect(() => {
    if (hasEnded) forgetSession(client)
  }, [hasEnded, client])
}

/** Says what is taken off the revenue: refunds, and payments of the owner to themselves. */
function revenueNote({ refunds, selfPayments: { count } }: ActivitySummary): string {
  const own = counted(count, {
    one: 'without 1 payment to yourself',
    other: 'without # payments to yourself',
  })
  const parts = [
    ...(refunds.count > 0 ? [`after ${shortUsd(refunds.usd)} of refunds`] : []),
    ...(count > 0 ? [own] : []),
  ]
  return parts.join(', ') || 'USDC'
}

/** Shows the totals of a range, net of refunds. */
function ActivityFigures({
  summary,
  before,
}: {
  summary: ActivitySummary
  /** The sums of the period before; `undefined` where there is nothing to compare. */
  before: ActivitySummary | undefined
}) {
  const since = (of: (it: ActivitySummary) => number) =>
    before === undefined ? undefined : ([of(summary), of(before)] as const)
  const { settle, revenue, refunds, payers } = summary
  return (
    <Card className="p-4 sm:p-5">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-4">
        <Stat
          name="Revenue"
          value={<Usd usd={revenue.usd} />}
          change={since((it) => Number(it.revenue.usd))}
          title={`After ${exactCount(refunds.count)} refunds, ${exactUsdc(refunds.usd)} in all`}
          note={revenueNote(summary)}
        />
        <Stat
          name="Payments"
          value={shortCount(settle.settled)}
          change={since((it) => it.settle.settled)}
          title={`${exactCount(settle.settled)} of ${exactCount(settle.count)} payment requests were settled`}
          note={`${exactCount(settle.failed)} failed`}
        />
        <Stat
          name="Buyers"
          value={shortCount(payers.unique)}
          change={since((it) => it.payers.unique)}
          title={`${exactCount(payers.unique)} different buyers, ${exactCount(payers.repeat)} of them paid more than once`}
          note={`${exactCount(payers.repeat)} came back`}
        />
        <Stat
          name="Success rate"
          value={percent(settle.successRate)}
          change={since((it) => it.settle.successRate ?? 0)}
          title="A payment counts as failed if it was found valid and was then not settled. Failures that a buyer causes count once a day."
          note="of valid payments"
        />
      </dl>
    </Card>
  )
}

/** Lists the last payments whose API is not in the catalog: which side left what out, and what happens next. */
function Unlisted({ payments }: { payments: readonly UnlistedPayment[] }) {
  if (payments.length === 0) return null
  return (
    <Card className="p-4 sm:p-5">
      <h3 className="mb-3 text-sm font-semibold">Paid and not listed</h3>
      <ul className="space-y-3 text-sm">
        {payments.map(({ url, reason, at }) => (
          <li key={url}>
            <p className="break-all font-medium">
              <UntrustedText text={url ?? 'A payment without a URL'} max={200} />
            </p>
            <p className="text-muted">
              <UntrustedText text={reason} max={600} /> <Moment at={at * 1000} />
            </p>
          </li>
        ))}
      </ul>
    </Card>
  )
}

const SHOWN = 5

/** Lists the reasons for failed and refused payments, the most frequent first, on one scale. */
function Failures({
  failures,
  refusals,
  onShow,
}: Pick<ActivitySummary, 'failures' | 'refusals'> & {
  onShow: (show: 'failed' | 'refused') => void
}) {
  const failed = failures.filter(({ kind }) => kind === 'settle')
  const reasons = [
    ...failed.map((it) => ({ ...it, show: 'failed' as const })),
    ...refusals.map((it) => ({ ...it, show: 'refused' as const })),
  ].sort((a, b) => b.count - a.count)
  const most = reasons[0]?.count ?? 1
  const rest = reasons.slice(SHOWN).reduce((sum, { count }) => sum + count, 0)
  return (
    <section>
      <h3 className="mb-3 text-sm font-semibold">Not settled, by reason</h3>
      {reasons.length === 0 && <p className="text-sm text-muted">Nothing failed in this period.</p>}
      <ul className="space-y-3">
        {reasons.slice(0, SHOWN).map(({ reason, count, show }) => (
          <li key={`${show} ${reason}`}>
            <button
              type="button"
              onClick={() => onShow(show)}
              title="Press to see these payments."
              className="group w-full text-left"
            >
              <span className="flex items-baseline justify-between gap-3 text-sm">
                <span className="min-w-0 break-words group-hover:text-accent">
                  {failureText(reason)}
                </span>
                <span className="whitespace-nowrap tabular text-muted">
                  {exactCount(count)} {show}
                </span>
              </span>
              <svg
                className="mt-1 block h-1.5 w-full"
                aria-hidden="true"
                preserveAspectRatio="none"
              >
                <rect width="100%" height="100%" rx="3" className="fill-sunken" />
                <rect
                  width={`${(count / most) * 100}%`}
                  height="100%"
                  rx="3"
                  className={show === 'failed' ? 'fill-bad' : 'fill-faint'}
                />
              </svg>
            </button>
          </li>
        ))}
        {rest > 0 && <li className="text-xs text-muted">and {exactCount(rest)} more</li>}
      </ul>
      {refusals.length > 0 && (
        <p className="mt-3 text-xs text-muted">
          Refused: never found valid, used before, or over a limit. These do not count in the
          success rate.
        </p>
      )}
    </section>
  )
}
