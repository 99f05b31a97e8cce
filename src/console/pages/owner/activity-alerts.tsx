import type { ActivityRow, ActivityTable } from '@arcus/protocol/answers/activity'
import type { MerchantView } from '@arcus/protocol/answers/listings'
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { newestActivityQuery, type TableFilter, withNewRows } from '../../api/activity-queries.js'
import { hooksQuery, merchantQuery } from '../../api/queries.js'
import { ButtonLink } from '../../components/button.js'
import { Notice } from '../../components/card.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { counted } from '../../format/amounts.js'
import { failureText } from '../../format/failures.js'
import { type Health, healthOf } from '../../format/health.js'

/** Failures in a row that the owner is warned of. */
const IN_A_ROW = 3
/** An endpoint that begins to fail announces nothing, so the page asks, also while its tab is hidden. */
const ENDPOINTS_MS = 60_000
const HOOKS_MS = 60_000
/** New payments change the figures, which are read again at most this often. */
const SUMS_MS = 10_000

/** The states of an API that keep buyers from its answers. */
const alerts = [
  ['failing', { one: 'An API fails its checks', other: '# APIs fail their checks' }],
  [
    'undelivered',
    {
      one: 'An API did not deliver when Arcus bought from it',
      other: '# APIs did not deliver when Arcus bought from them',
    },
  ],
  ['unpayable', { one: 'An API cannot be paid', other: '# APIs cannot be paid' }],
] as const

/** Says what needs the owner, as long as the page is open: payments, endpoints or paid checks that fail, webhooks that are not delivered. */
export function Alerts({
  merchant: { id, endpoints },
  newest,
}: {
  merchant: MerchantView
  newest: readonly ActivityRow[]
}) {
  const home = `/console/${encodeURIComponent(id)}`
  const { data: hooks } = useQuery({ ...hooksQuery(id), refetchInterval: HOOKS_MS })
  useQuery({
    ...merchantQuery(id),
    refetchInterval: ENDPOINTS_MS,
    refetchIntervalInBackground: true,
  })
  const reason = failingReason(newest)
  const titlesOf = (kind: Health['kind']) =>
    endpoints.flatMap(({ title, state, price }) =>
      healthOf({ ...state, price }).kind === kind ? title : [],
    )
  const undelivered = hooks?.hooks.filter(({ state }) => state !== 'active') ?? []
  return (
    <div className="space-y-3 empty:hidden">
      {reason !== undefined && (
        <Notice tone="bad" title={`The last ${IN_A_ROW} payments failed`}>
          {failureText(reason)}
        </Notice>
      )}
      {alerts.map(([kind, forms]) => (
        <AlertOf
          key={kind}
          names={titlesOf(kind)}
          forms={forms}
          link={{ href: `${home}/endpoints`, text: 'See why' }}
        />
      ))}
      <AlertOf
        tone="warn"
        names={undelivered.map(({ url }) => url)}
        forms={{
          one: 'A webhook does not receive its events',
          other: '# webhooks do not receive their events',
        }}
        link={{ href: `${home}/settings`, text: 'See the webhooks' }}
      />
    </div>
  )
}

/** Says how many of something need the owner, and names them; nothing where there are none. */
function AlertOf({
  names,
  forms,
  link,
  tone = 'bad',
}: {
  names: readonly string[]
  forms: Parameters<typeof counted>[1]
  link: { href: string; text: string }
  tone?: 'bad' | 'warn'
}) {
  if (names.length === 0) return null
  const action = (
    <ButtonLink size="sm" href={link.href}>
      {link.text}
    </ButtonLink>
  )
  return (
    <Notice tone={tone} title={counted(names.length, forms)} action={action}>
      <UntrustedText text={names.join(', ')} max={200} />
    </Notice>
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

/**
 * Follows the newest rows of a merchant: puts them into the tables that are shown, and has the figures read again at most
 * every ten seconds.
 */
export function useNewestActivity(id: string) {
  const client = useQueryClient()
  const query = useQuery(newestActivityQuery(id))
  const rows = query.data?.items
  const seen = useRef<number | undefined>(undefined)
  const readSumsSoon = useSumsRead(client, id)
  useEffect(() => {
    if (rows === undefined) return
    putIntoTables(client, id, rows)
    const newest = rows[0]?.id ?? 0
    if (seen.current !== undefined && newest > seen.current) readSumsSoon()
    seen.current = newest
  }, [rows, client, id, readSumsSoon])
  return query
}

function putIntoTables(client: QueryClient, id: string, rows: readonly ActivityRow[]): void {
  const tables = client.getQueryCache().findAll({ queryKey: ['activity', id, 'table'] })
  for (const { queryKey } of tables) {
    const [, , , filter, before] = queryKey as [string, string, string, TableFilter, number | null]
    if (before !== null) continue
    client.setQueryData<ActivityTable>(
      queryKey,
      (table) => table && withNewRows(table, filter, rows),
    )
  }
}

function useSumsRead(client: QueryClient, id: string): () => void {
  const timing = useRef<{ timer?: ReturnType<typeof setTimeout> | undefined; next: number }>({
    next: 0,
  })
  const readSoon = useRef(() => {
    const { timer, next } = timing.current
    if (timer !== undefined) return
    const read = () => {
      timing.current = { next: Date.now() + SUMS_MS }
      void client.invalidateQueries({ queryKey: ['activity', id, 'sums'] })
    }
    timing.current.timer = setTimeout(read, Math.max(0, next - Date.now()))
  })
  useEffect(() => () => clearTimeout(timing.current.timer), [])
  return readSoon.current
}
