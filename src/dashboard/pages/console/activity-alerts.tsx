import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ActivityRow } from '../../../api/activity.js'
import type { MerchantView } from '../../../api/listings.js'
import { activityTableQuery, hooksQuery, merchantQuery } from '../../api/queries.js'
import { ButtonLink } from '../../components/button.js'
import { Notice } from '../../components/card.js'
import { say } from '../../components/toast.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { failureText } from '../../format/failures.js'
import { words as all } from './words.js'

const words = all.alerts

/** Failures in a row that are told. */
const IN_A_ROW = 3
/** An endpoint that begins to fail announces nothing, so the page asks, also while its tab is hidden. */
const ENDPOINTS_MS = 60_000
const HOOKS_MS = 60_000

const newestPayments = { range: '24h', kind: 'settle', state: '' } as const

/** Says what needs the owner, as long as the page is open: payments or endpoints that fail, webhooks that are not delivered. */
export function Alerts({ merchant }: { merchant: MerchantView }) {
  const { id, endpoints } = merchant
  const settings = `/console/${encodeURIComponent(id)}/settings`
  // The title counts payments while the tab is hidden.
  const inBackground = { refetchIntervalInBackground: true }
  const payments = activityTableQuery(id, newestPayments, null)
  const { data: table } = useQuery({ ...payments, ...inBackground })
  const { data: hooks } = useQuery({ ...hooksQuery(id), refetchInterval: HOOKS_MS })
  useQuery({ ...merchantQuery(id), refetchInterval: ENDPOINTS_MS, ...inBackground })
  useArrivals(table?.items)

  const reason = failingReason(table?.items ?? [])
  const failing = endpoints.filter(({ state }) => state.status === 'failing')
  const undelivered = hooks?.hooks.filter(({ state }) => state !== 'active') ?? []
  return (
    <div className="space-y-3 empty:hidden">
      {reason !== undefined && (
        <Notice tone="bad" title={words.paymentsFail(IN_A_ROW)}>
          {failureText(reason)}
        </Notice>
      )}
      {failing.length > 0 && (
        <Notice
          tone="bad"
          title={words.endpointsFail(failing.length)}
          action={
            <ButtonLink size="sm" href={`/console/${encodeURIComponent(id)}/endpoints`}>
              {words.seeWhy}
            </ButtonLink>
          }
        >
          <UntrustedText text={failing.map(({ title }) => title).join(', ')} max={200} />
        </Notice>
      )}
      {undelivered.length > 0 && (
        <Notice
          tone="warn"
          title={words.hooksFail(undelivered.length)}
          action={
            <ButtonLink size="sm" href={settings}>
              {words.seeHooks}
            </ButtonLink>
          }
        >
          <UntrustedText text={undelivered.map(({ url }) => url).join(', ')} max={200} />
        </Notice>
      )}
    </div>
  )
}

/** Returns the reason of the newest failure where one after another failed; `null` becomes an unknown one. */
function failingReason(rows: readonly ActivityRow[]): string | undefined {
  const decided = rows.filter(
    ({ state, isSelf }) => !isSelf && (state === 'settled' || state === 'failed'),
  )
  const last = decided.slice(0, IN_A_ROW)
  if (last.length < IN_A_ROW || last.some(({ state }) => state !== 'failed')) return undefined
  return last[0]?.reason ?? 'unexpected_settle_error'
}

/** Counts payments in the title while the tab is hidden, and says so once when the owner comes back. */
function useArrivals(rows: readonly ActivityRow[] | undefined): void {
  const seen = useRef<number | undefined>(undefined)
  const isHidden = useIsHidden()
  useEffect(() => {
    if (rows === undefined) return
    const newest = rows[0]?.id ?? 0
    const before = seen.current
    if (!isHidden || before === undefined) {
      const count = before === undefined ? 0 : arrivedAfter(before, rows)
      if (titleCount() !== '' && count > 0) say(sentence(count, rows.length))
      setTitleCount(0)
      seen.current = newest
      return
    }
    setTitleCount(arrivedAfter(before, rows))
  }, [rows, isHidden])
  useEffect(() => () => setTitleCount(0), [])
}

function arrivedAfter(id: number, rows: readonly ActivityRow[]): number {
  return rows.filter((row) => row.id > id && row.state === 'settled' && !row.isSelf).length
}

/** A page of the table is full: there may be more. */
const FULL = 25

function sentence(count: number, rows: number): string {
  return count === rows && rows >= FULL ? words.manyArrived(count) : words.arrived(count)
}

const counted = /^\(\d+\) /

const titleCount = () => counted.exec(document.title)?.[0] ?? ''

function setTitleCount(count: number): void {
  const title = document.title.replace(counted, '')
  document.title = count === 0 ? title : `(${count}) ${title}`
}

function useIsHidden(): boolean {
  const [isHidden, setIsHidden] = useState(document.hidden)
  useEffect(() => {
    const look = () => setIsHidden(document.hidden)
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isHidden
}
