import { withQuery } from '@arcus/client/calls'
import type { Settlement } from '@arcus/protocol/answers/activity'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import { type PaymentListFilter, paymentListQuery, withNews } from '../../../api/payment-queries.js'
import { exploreQuery } from '../../../api/queries.js'
import { useStream } from '../../../api/use-stream.js'
import { Dot } from '../../../components/badge.js'
import { Card } from '../../../components/card.js'
import { Loaded, SkeletonRows } from '../../../components/loaded.js'
import { CsvLink } from './csv-link.js'
import {
  type ListedPayments,
  ListedState,
  PaymentFilters,
  usePaymentFilter,
} from './payment-filter.js'
import { rowOfSettlement } from './payment-row.js'
import { PaymentsTable } from './payments-table.js'

/** The least pause between two reads of figures that payments change. */
const REREAD_MS = 10_000
const connections = {
  connecting: ['plain', 'Connecting'],
  live: ['ok', 'Up to date'],
  lost: ['warn', 'Connecting again'],
} as const

/** Lists payments for everybody, as they settle. `fixed` is what the page is about; `empty` replaces a list of nothing at all. */
export function PublicPayments({
  fixed = {},
  empty,
}: {
  fixed?: Pick<PaymentListFilter, 'seller' | 'buyer'>
  empty?: ReactNode
}) {
  const listed = usePaymentFilter(fixed)
  const { filter, values, turned, choose, show, open } = listed
  const query = useQuery(paymentListQuery(filter, turned.at(-1)))
  const [tone, name] = connections[useNews(listed)]
  const names = (['seller', 'buyer', 'min', 'max', 'from', 'to', 'network'] as const).filter(
    (it) => !(it in fixed),
  )
  const rows = (query.data?.items ?? []).map(rowOfSettlement)
  const isBare = Object.values(values).every((it) => it === undefined)
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-3">
        <div className="flex flex-wrap items-center gap-2">
          <ListedState filter={filter} choose={choose} />
          <PaymentFilters names={names} values={values} choose={choose} />
        </div>
        <span className="flex items-center gap-3">
          <span className="min-w-24">
            <Dot tone={tone}>{name}</Dot>
          </span>
          <CsvLink
            href={withQuery('/api/payments.csv', { ...filter })}
            title="The newest 5,000 of these payments"
          />
        </span>
      </div>
      <Loaded query={query} skeleton={<SkeletonRows count={10} label="Loading the payments" />}>
        {({ next }) =>
          rows.length === 0 && isBare && empty !== undefined ? (
            <div className="p-5">{empty}</div>
          ) : (
            <PaymentsTable
              rows={rows}
              next={next}
              turned={turned}
              onTurn={(page) => choose({ page })}
              open={open}
              onShow={show}
              {...('seller' in fixed && { hides: 'seller' })}
              {...('buyer' in fixed && { hides: 'buyer' })}
            />
          )
        }
      </Loaded>
    </Card>
  )
}

/** Adds payments to the newest page as they settle, and has the figures read again soon. */
function useNews({ filter, turned }: Pick<ListedPayments, 'filter' | 'turned'>) {
  const client = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const { queryKey } = paymentListQuery(filter, turned.at(-1))
  const reread = () => void client.invalidateQueries({ queryKey: exploreQuery.queryKey })
  return useStream('/api/settlements/stream', 'settlements', {
    onNews(data) {
      const news = JSON.parse(data) as Settlement[]
      if (turned.length === 0) {
        client.setQueryData(queryKey, (page) => page && withNews(page, filter, news))
      }
      timer.current ??= setTimeout(() => {
        timer.current = undefined
        reread()
      }, REREAD_MS)
    },
    onGap() {
      reread()
      void client.invalidateQueries({ queryKey })
    },
  })
}
