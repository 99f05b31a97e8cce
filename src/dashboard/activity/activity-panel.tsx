import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useSearchParams } from 'wouter'
import type { ActivityFilter } from '../api/activity-types.js'
import { ApiError } from '../api/http.js'
import { activityQuery } from '../api/queries.js'
import { Dot } from '../components/badge.js'
import { Card, Section } from '../components/card.js'
import { Loaded } from '../components/loaded.js'
import { isRange, RangePicker } from '../components/range-picker.js'
import { Skeleton } from '../components/skeleton.js'
import { oneLine } from '../format/hostile-text.js'
import { forgetSession } from '../wallet/session.js'
import { ActivityChart } from './activity-chart.js'
import type { EndpointName } from './activity-columns.js'
import { ActivityFigures } from './activity-figures.js'
import { ActivityTable } from './activity-table.js'
import { Failures } from './failures.js'
import { type Liveness, useLiveActivity } from './live-activity.js'

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
export function ActivityPanel({ merchantId, endpoints }: ActivityPanelProps) {
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
      <Loaded query={query} skeleton={<PanelSkeleton />}>
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

function PanelSkeleton() {
  return (
    <div role="status" aria-label="Loading the figures" className="space-y-4">
      <Skeleton className="h-24 w-full !rounded-2xl" />
      <Skeleton className="h-72 w-full !rounded-2xl" />
    </div>
  )
}
