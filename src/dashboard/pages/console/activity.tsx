import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import { useEffect, useMemo, useState } from 'react'
import { useConnection } from 'wagmi'
import type { ActivitySummary, ReasonCount } from '../../../api/activity.js'
import type { MerchantView } from '../../../api/listings.js'
import { activityQuery, sessionQuery } from '../../api/queries.js'
import { Button, ButtonLink, TextLink } from '../../components/button.js'
import { Card, Empty, Section } from '../../components/card.js'
import { Select } from '../../components/field.js'
import { Stat, Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { OddParameters } from '../../components/search-state.js'
import { Sentence } from '../../components/sentence.js'
import { Hex } from '../../components/untrusted-text.js'
import {
  duration,
  exactCount,
  exactUsdc,
  percent,
  shortCount,
  shortUsd,
} from '../../format/amounts.js'
import { failureText } from '../../format/failures.js'
import { oneLine, sameAddress, shortHex } from '../../format/untrusted-text.js'
import { forgetSession, useSession } from '../../wallet/session.js'
import { WalletFault } from '../../wallet/signed-write.js'
import { useSigning } from '../../wallet/signing.js'
import { WalletPicker } from '../../wallet/wallet-picker.js'
import { Alerts } from './activity-alerts.js'
import { Breakdown } from './activity-breakdown.js'
import { ActivityChart } from './activity-chart.js'
import { RangePicker, useFilter } from './activity-range.js'
import { ActivityTable, type EndpointName } from './activity-table.js'
import { words as all } from './words.js'

const words = all.activity

/** Shows the payments of a listing to its owner. They are private, so the wallet signs in to read them. */
export function Activity({ merchant }: { merchant: MerchantView }) {
  const session = useSession()
  if (merchant.owner === null) return null
  if (merchant.payToProof === null) return <Unproven merchant={merchant} />
  return (
    <Loaded query={session} skeleton={<PanelSkeleton />}>
      {(signedIn) =>
        sameAddress(signedIn?.address, merchant.owner) ? (
          <ActivityPanel merchant={merchant} />
        ) : (
          <SignIn owner={merchant.owner} />
        )
      }
    </Loaded>
  )
}

/** Asks for the confirmation of the payout address. Without it the service shows its payments to nobody. */
function Unproven({ merchant: { id, payTo } }: { merchant: MerchantView }) {
  return (
    <Card>
      <Empty
        title={words.unproven}
        action={
          <ButtonLink variant="primary" href={`/console/${encodeURIComponent(id)}/settings`}>
            {words.confirm}
          </ButtonLink>
        }
      >
        <Sentence
          text={words.unprovenNote}
          parts={{ address: <Hex hex={payTo} kind="address" /> }}
        />
      </Empty>
    </Card>
  )
}

function SignIn({ owner }: { owner: string | null }) {
  const { address } = useConnection()
  const { signIn } = useSigning()
  const client = useQueryClient()
  const [isPicking, setIsPicking] = useState(false)
  const login = useMutation({
    mutationFn: signIn,
    onSuccess: (session) => client.setQueryData(sessionQuery.queryKey, session),
  })
  const isOwner = sameAddress(address, owner)
  return (
    <Card>
      <Empty
        title={words.signIn}
        action={
          address === undefined ? (
            <Button variant="primary" onClick={() => setIsPicking(true)}>
              {words.connect}
            </Button>
          ) : (
            <Button
              variant="primary"
              isBusy={login.isPending}
              why={isOwner ? undefined : words.onlyOwner(shortHex(owner ?? ''))}
              onClick={() => login.mutate()}
            >
              {words.sign}
            </Button>
          )
        }
      >
        {words.signInNote}
      </Empty>
      {login.error !== null && (
        <div className="px-5 pb-5">
          <WalletFault error={login.error} title={words.notSignedIn} />
        </div>
      )}
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </Card>
  )
}

function PanelSkeleton() {
  return (
    <div role="status" aria-label={words.loading} className="space-y-4">
      <Skeleton className="h-28 w-full !rounded-2xl" />
      <Skeleton className="h-64 w-full !rounded-2xl" />
    </div>
  )
}

/** Shows figures, chart, failures, endpoints, payers and table of the payments, all under the same filter. */
function ActivityPanel({ merchant }: { merchant: MerchantView }) {
  const merchantId = merchant.id
  const home = `/console/${encodeURIComponent(merchantId)}`
  const { parts } = all.manage
  const endpoints = useMemo(
    () =>
      merchant.endpoints.map(({ title, method, state }): EndpointName => {
        return { id: state.id, title, method, lastPaid: state.usage?.lastPaid ?? null }
      }),
    [merchant.endpoints],
  )
  const { filter, odd, setFilter } = useFilter(endpoints)
  const query = useQuery(activityQuery(merchantId, filter))
  useSessionEnd(query.error)

  return (
    <Section
      title={words.title}
      aside={
        <div className="flex flex-wrap items-center gap-3">
          {endpoints.length > 1 && (
            <Select
              variant="small"
              aria-label={words.endpoint}
              value={String(filter.endpoint ?? '')}
              options={[
                ['', words.allEndpoints],
                ...endpoints.map(
                  ({ id, title, method }) =>
                    [String(id), `${method} ${oneLine(title, 60)}`] as const,
                ),
              ]}
              onChange={(endpoint) => setFilter({ endpoint })}
            />
          )}
          <RangePicker filter={filter} onChange={setFilter} />
        </div>
      }
    >
      <OddParameters odd={odd} />
      <Alerts merchant={merchant} />
      <Loaded query={query} skeleton={<FiguresSkeleton />}>
        {(answer) => (
          <div className="space-y-4">
            <ActivityFigures summary={answer.summary} />
            <div className="grid gap-4 lg:grid-cols-3">
              <div className="min-w-0 lg:col-span-2">
                <ActivityChart answer={answer} />
              </div>
              <Card className="p-5">
                <h3 className="mb-4 text-sm font-semibold">{all.failures.title}</h3>
                <Failures {...answer.summary} />
              </Card>
            </div>
          </div>
        )}
      </Loaded>
      <Breakdown
        {...{ merchantId, endpoints, filter }}
        onChoose={(id) => setFilter({ endpoint: String(id) })}
      />
      <ActivityTable merchantId={merchantId} endpoints={endpoints} filter={filter} />
      <p className="text-sm text-muted">
        <Sentence
          text={words.elsewhere}
          parts={{
            settings: <TextLink href={`${home}/settings`}>{parts.settings}</TextLink>,
            endpoints: <TextLink href={`${home}/endpoints`}>{parts.endpoints}</TextLink>,
          }}
        />
      </p>
    </Section>
  )
}

/** Forgets a session that has ended, so that the page asks to sign in again instead of showing old figures. */
function useSessionEnd(error: Error | null): void {
  const client = useQueryClient()
  const hasEnded = error instanceof ArcusError && error.status === 401
  useEffect(() => {
    if (!hasEnded) return
    forgetSession(client)
  }, [hasEnded, client])
}

function FiguresSkeleton() {
  return (
    <div role="status" aria-label={words.loadingFigures} className="space-y-4">
      <Skeleton className="h-24 w-full !rounded-2xl" />
      <Skeleton className="h-72 w-full !rounded-2xl" />
    </div>
  )
}

function revenueNote({ refunds, selfPayments }: ActivitySummary): string {
  const refunded = refunds.count > 0 ? shortUsd(refunds.usd) : undefined
  return all.figures.revenueIs(refunded, selfPayments.count, exactCount(selfPayments.count))
}

/** Shows the totals of a range, net of refunds. */
function ActivityFigures({ summary }: { summary: ActivitySummary }) {
  const { verify, settle, revenue, refunds, payers, gasUsd } = summary
  const named = all.figures
  return (
    <Card className="p-5">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-4 lg:grid-cols-7">
        <Stat
          name={named.revenue}
          value={<Usd usd={revenue.usd} />}
          title={named.revenueNote(
            refunds.count,
            exactCount(refunds.count),
            exactUsdc(refunds.usd),
          )}
          note={revenueNote(summary)}
        />
        <Stat
          name={named.payments}
          value={shortCount(settle.settled)}
          title={named.paymentsNote(exactCount(settle.settled), exactCount(settle.count))}
          note={named.failed(exactCount(settle.failed))}
        />
        <Stat
          name={named.payers}
          value={shortCount(payers.unique)}
          title={named.payersNote(exactCount(payers.unique), exactCount(payers.repeat))}
          note={named.cameBack(exactCount(payers.repeat))}
        />
        <Stat
          name={named.success}
          value={percent(settle.successRate)}
          note={named.ofValid}
          title={named.successNote}
        />
        <Stat
          name={named.settleTime}
          value={duration(settle.p50Ms)}
          title={named.settleTimeNote(exactCount(settle.settled))}
          note={settle.p95Ms === null ? undefined : named.within(duration(settle.p95Ms))}
        />
        <Stat
          name={named.verified}
          value={shortCount(verify.valid)}
          title={named.verifiedNote(exactCount(verify.valid), exactCount(verify.count))}
          note={named.invalid(exactCount(verify.count - verify.valid))}
        />
        <Stat
          name={named.gas}
          value={<Usd usd={gasUsd} />}
          title={named.gasNote(exactUsdc(gasUsd))}
          note={named.paidByArcus}
        />
      </dl>
    </Card>
  )
}

const SHOWN = 6

/** Lists the reasons for failures and refusals, the most frequent first. */
function Failures({ failures, refusals }: Pick<ActivitySummary, 'failures' | 'refusals'>) {
  return (
    <>
      {failures.length === 0 ? (
        <p className="text-sm text-muted">{all.failures.none}</p>
      ) : (
        <Reasons reasons={failures} />
      )}
      {refusals.length > 0 && (
        <>
          <h4 className="mt-5 mb-1 text-sm font-semibold">{all.failures.refused}</h4>
          <p className="mb-3 text-xs text-muted">{all.failures.refusedNote}</p>
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
              {failureText(reason)}{' '}
              <span className="text-xs text-faint">
                {kind === 'verify' ? all.failures.verify : all.failures.settle}
              </span>
            </span>
            <span className="tabular text-muted">{exactCount(count)}</span>
          </div>
          <meter
            className="sr-only"
            min={0}
            max={most}
            value={count}
            aria-label={all.failures.times(failureText(reason), count)}
          />
          <svg className="mt-1 block h-1.5 w-full" aria-hidden="true" preserveAspectRatio="none">
            <rect width="100%" height="100%" rx="3" className="fill-sunken" />
            <rect width={`${(count / most) * 100}%`} height="100%" rx="3" className="fill-bad" />
          </svg>
        </li>
      ))}
      {rest > 0 && <li className="text-xs text-muted">{all.failures.more(exactCount(rest))}</li>}
    </ul>
  )
}
