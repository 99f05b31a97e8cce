import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useConnection } from 'wagmi'
import { useSearchParams } from 'wouter'
import { ApiError } from '../../api/http.js'
import { activityQuery, sessionQuery } from '../../api/queries.js'
import type { ActivityFilter, ActivitySummary, MerchantView, ReasonCount } from '../../api/types.js'
import { Dot } from '../../components/badge.js'
import { Button, ButtonLink } from '../../components/button.js'
import { Card, Empty, Section } from '../../components/card.js'
import { Stat, Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Notice } from '../../components/notice.js'
import { isRange, RangePicker } from '../../components/range-picker.js'
import { Hex } from '../../components/untrusted-text.js'
import {
  duration,
  exactCount,
  exactUsdc,
  percent,
  shortCount,
  shortUsd,
} from '../../format/amounts.js'
import { oneLine, sameAddress } from '../../format/untrusted-text.js'
import { reasonName } from '../../format/verdicts.js'
import { forgetSession, useSession } from '../../wallet/session.js'
import { useSigning } from '../../wallet/signing.js'
import { describeError, isRejection } from '../../wallet/wallet-error.js'
import { WalletPicker } from '../../wallet/wallet-picker.js'
import { ActivityChart } from './activity-chart.js'
import { ActivityTable, type EndpointName } from './activity-table.js'

/** What happened at a listing's endpoints, for its owner: figures are private, so the wallet signs in to read them. */
export function Activity({ merchant }: { merchant: MerchantView }) {
  const session = useSession()
  const endpoints = merchant.endpoints.map(({ title, method, url, state }) => ({
    id: state.id,
    title,
    method,
    url,
  }))
  if (merchant.owner === null) return null
  if (merchant.payToProof === null) return <Unproven merchant={merchant} />
  return (
    <Loaded query={session} skeleton={<PanelSkeleton />}>
      {(signedIn) =>
        sameAddress(signedIn?.address, merchant.owner) ? (
          <ActivityPanel merchantId={merchant.id} endpoints={endpoints} />
        ) : (
          <SignIn owner={merchant.owner} />
        )
      }
    </Loaded>
  )
}

/** The service tells nobody what an address receives that has not shown that it stands behind the owner. */
function Unproven({ merchant: { id, payTo } }: { merchant: MerchantView }) {
  return (
    <Card>
      <Empty
        title="Payments do not count here yet"
        action={
          <ButtonLink look="primary" href={`/console/${encodeURIComponent(id)}/settings`}>
            Confirm the payout address
          </ButtonLink>
        }
      >
        This listing is paid at <Hex hex={payTo} kind="address" />, which has not confirmed its
        owner. Its key has to sign once; what is paid from then on shows up here.
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
        title="Sign in to see payments"
        action={
          address === undefined ? (
            <Button look="primary" onClick={() => setIsPicking(true)}>
              Connect the owner’s wallet
            </Button>
          ) : (
            <Button
              look="primary"
              isBusy={login.isPending}
              disabled={!isOwner}
              onClick={() => login.mutate()}
            >
              Sign in with the wallet
            </Button>
          )
        }
      >
        Who paid, for what and how it went is for the owner only. The signature opens an hour of
        reading; it can change nothing.
      </Empty>
      {login.error !== null && (
        <div className="px-5 pb-5">
          <Notice tone={isRejection(login.error) ? 'warn' : 'bad'} title="Not signed in">
            {describeError(login.error)}
          </Notice>
        </div>
      )}
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </Card>
  )
}

function PanelSkeleton() {
  return (
    <div role="status" aria-label="Loading activity" className="space-y-4">
      <Skeleton className="h-28 w-full !rounded-2xl" />
      <Skeleton className="h-64 w-full !rounded-2xl" />
    </div>
  )
}

interface ActivityPanelProps {
  merchantId: string
  endpoints: readonly EndpointName[]
}

const told: Record<Liveness, ['ok' | 'warn' | 'plain', string]> = {
  connecting: ['plain', 'Connecting'],
  live: ['ok', 'Live'],
  lost: ['warn', 'Reconnecting'],
}

/** What happened at a merchant's endpoints, for its owner who is signed in. Everything on it has the same filter. */
function ActivityPanel({ merchantId, endpoints }: ActivityPanelProps) {
  const { filter, setFilter } = useFilter(endpoints)
  const [tone, word] = told[useLiveActivity(merchantId)]
  const query = useQuery(activityQuery(merchantId, filter))
  useSessionEnd(query.error)

  return (
    <Section
      title="Activity"
      aside={
        <div className="flex flex-wrap items-center gap-3">
          <Dot tone={tone}>{word}</Dot>
          {endpoints.length > 1 && (
            <select
              aria-label="Endpoint"
              value={filter.endpoint ?? ''}
              onChange={({ target }) => setFilter('endpoint', target.value)}
              className="h-8 max-w-56 rounded-lg border border-line-strong bg-raised px-2.5 pr-7 text-xs"
            >
              <option value="">All endpoints</option>
              {endpoints.map(({ id, title, method }) => (
                <option key={id} value={id}>
                  {method} {oneLine(title, 60)}
                </option>
              ))}
            </select>
          )}
          <RangePicker range={filter.range} onChange={(range) => setFilter('range', range)} />
        </div>
      }
    >
      <Loaded query={query} skeleton={<FiguresSkeleton />}>
        {(answer) => (
          <div className="space-y-4">
            <ActivityFigures summary={answer.summary} />
            <div className="grid gap-4 lg:grid-cols-3">
              <div className="min-w-0 lg:col-span-2">
                <ActivityChart answer={answer} />
              </div>
              <Card className="p-5">
                <h3 className="mb-4 text-sm font-semibold">Failures by reason</h3>
                <Failures {...answer.summary} />
              </Card>
            </div>
          </div>
        )}
      </Loaded>
      <ActivityTable merchantId={merchantId} endpoints={endpoints} filter={filter} />
    </Section>
  )
}

/** As it stands in the address, so that a link leads to the same figures. */
function useFilter(endpoints: readonly EndpointName[]) {
  const [params, setParams] = useSearchParams()
  const range = params.get('range')
  const endpoint = endpoints.find(({ id }) => String(id) === params.get('endpoint'))?.id
  const filter: ActivityFilter = { range: isRange(range) ? range : '24h', endpoint }
  const setFilter = (name: 'range' | 'endpoint', value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  return { filter, setFilter }
}

/** A session lasts an hour; when it has ended, the page asks to sign in again instead of showing old figures. */
function useSessionEnd(error: Error | null): void {
  const client = useQueryClient()
  const hasEnded = error instanceof ApiError && error.status === 401
  useEffect(() => {
    if (!hasEnded) return
    // Else the next session would begin with this error.
    forgetSession(client)
  }, [hasEnded, client])
}

function FiguresSkeleton() {
  return (
    <div role="status" aria-label="Loading the figures" className="space-y-4">
      <Skeleton className="h-24 w-full !rounded-2xl" />
      <Skeleton className="h-72 w-full !rounded-2xl" />
    </div>
  )
}

const AGAIN_MS = 5_000

type Liveness = 'connecting' | 'live' | 'lost'

/** Follows a merchant's activity: whatever is shown of it is read anew when the service says that there is more. */
function useLiveActivity(merchantId: string): Liveness {
  const client = useQueryClient()
  const [liveness, setLiveness] = useState<Liveness>('connecting')

  useEffect(() => {
    const path = `/api/merchants/${encodeURIComponent(merchantId)}/activity/stream`
    let stream: EventSource
    let timer: ReturnType<typeof setTimeout> | undefined
    const readAnew = () => void client.invalidateQueries({ queryKey: ['activity', merchantId] })
    let wasLost = false
    const follow = () => {
      stream = new EventSource(path)
      stream.addEventListener('open', () => {
        setLiveness('live')
        // What happened meanwhile was told to nobody.
        if (wasLost) readAnew()
        wasLost = false
      })
      stream.addEventListener('activity', readAnew)
      stream.addEventListener('error', () => {
        wasLost = true
        setLiveness('lost')
        if (stream.readyState !== EventSource.CLOSED) return
        // Browsers give up when the answer is an error; reading once tells whether the session has ended.
        readAnew()
        timer = setTimeout(follow, AGAIN_MS)
      })
    }
    follow()
    return () => {
      clearTimeout(timer)
      stream.close()
    }
  }, [client, merchantId])

  return liveness
}

function revenueNote({ refunds, selfPayments }: ActivitySummary): string {
  const notes = [
    ...(refunds.count > 0 ? [`net of ${shortUsd(refunds.usd)} refunded`] : []),
    ...(selfPayments.count > 0 ? [`without ${exactCount(selfPayments.count)} by yourself`] : []),
  ]
  return notes.join(', ') || 'USDC'
}

/** The sums of a range, net of refunds. */
function ActivityFigures({ summary }: { summary: ActivitySummary }) {
  const { verify, settle, revenue, refunds, payers, gasUsd } = summary
  return (
    <Card className="p-5">
      <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-4 lg:grid-cols-7">
        <Stat
          name="Revenue"
          value={<Usd usd={revenue.usd} />}
          title={`Net of ${exactCount(refunds.count)} refunds, ${exactUsdc(refunds.usd)}`}
          note={revenueNote(summary)}
        />
        <Stat
          name="Settled"
          value={shortCount(settle.settled)}
          title={`${exactCount(settle.settled)} of ${exactCount(settle.count)} settles`}
          note={`${exactCount(settle.failed)} failed`}
        />
        <Stat
          name="Success rate"
          value={percent(settle.successRate)}
          note="of sound payments"
          title="A payment fails if it was once found sound and did not settle; by the doing of a payer, once a day."
        />
        <Stat
          name="Verified"
          value={shortCount(verify.valid)}
          title={`${exactCount(verify.valid)} of ${exactCount(verify.count)} verifies`}
          note={`${exactCount(verify.count - verify.valid)} refused`}
        />
        <Stat
          name="Payers"
          value={shortCount(payers.unique)}
          title={`${exactCount(payers.unique)} different payers, ${exactCount(payers.repeat)} of them more than once`}
          note={`${exactCount(payers.repeat)} came back`}
        />
        <Stat
          name="Settle time"
          value={duration(settle.p50Ms)}
          title={`The middle one of ${exactCount(settle.settled)}`}
          note={settle.p95Ms === null ? undefined : `95% within ${duration(settle.p95Ms)}`}
        />
        <Stat
          name="Gas"
          value={<Usd usd={gasUsd} />}
          title={`${exactUsdc(gasUsd)} for all of them`}
          note="paid by Arcus"
        />
      </dl>
    </Card>
  )
}

const SHOWN = 6

/** Why payments failed, and why others were refused, the commonest first. */
function Failures({ failures, refusals }: Pick<ActivitySummary, 'failures' | 'refusals'>) {
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
