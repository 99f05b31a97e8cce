import { lazy, Suspense, useState } from 'react'
import type { PaymentListFilter } from '../../../api/payment-queries.js'
import { Icon } from '../../../components/icons.js'
import { useSearchState } from '../../../components/search-state.js'
import { Select } from '../../../components/select.js'
import { atomicToUsd } from '../../../format/amounts.js'
import { shortHex } from '../../../format/untrusted-text.js'
import { type FilterFields, labels } from './filter-fields.js'

const FilterForm = lazy(() => import('./filter-form.js').then((it) => ({ default: it.FilterForm })))

/** Pages that the address remembers. */
export const MAX_PAGES = 200

const isAddress = (text: string) => /^0x[0-9a-f]{40}$/i.test(text)
const isSeller = (text: string) => isAddress(text) || /^[a-z0-9][a-z0-9-]{0,80}$/.test(text)
const isAmount = (text: string) => /^(0|[1-9]\d{0,30})$/.test(text)
const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text)

/** The parameters of every list of payments in the address of its page. */
export const listSchema = {
  buyer: isAddress,
  min: isAmount,
  max: isAmount,
  /** The beginnings of the pages that were turned to, after the first one. */
  page: (text: string) => /^[\d.]{1,32}(_[\d.]{1,32})*$/.test(text),
  /** The row in the panel. */
  open: (text: string) => /^\d{1,15}$/.test(text),
}

const schema = {
  ...listSchema,
  seller: isSeller,
  state: ['refunded'],
  network: (text: string) => /^eip155:\d{1,12}$/.test(text),
  from: isDay,
  to: isDay,
}

type FilterValues = Partial<Record<keyof typeof schema, string>>

/** Keeps the filters of a list of payments in the address of the page. `fixed` is what the page is about. */
export function usePaymentFilter(fixed: Pick<PaymentListFilter, 'seller' | 'buyer'> = {}) {
  const { values, set } = useSearchState(schema)
  const { seller, buyer, network, from, to, min: minAmount, max: maxAmount } = values
  const state = values.state === 'refunded' ? ('refunded' as const) : undefined
  const filter: PaymentListFilter = {
    seller,
    buyer,
    network,
    from,
    to,
    minAmount,
    maxAmount,
    state,
    ...fixed,
  }
  return {
    filter,
    values,
    turned: values.page?.split('_') ?? [],
    open: values.open,
    /** Other rows begin at their first page. */
    choose: (wanted: FilterValues) => set({ ...values, page: '', open: '', ...wanted }),
    show: (open: string) => set({ ...values, open }),
  }
}

export type ListedPayments = ReturnType<typeof usePaymentFilter>

const shown = (name: keyof typeof labels, value: string) => {
  if (name === 'min' || name === 'max') return atomicToUsd(value)
  return isAddress(value) ? shortHex(value) : value
}

/** Chooses what a list shows. What is chosen stands beside it, and goes at one press. */
export function PaymentFilters({ names, values, choose }: FilterFields) {
  const [isOpen, setIsOpen] = useState(false)
  const chosen = names.filter((name) => values[name])
  return (
    <div className="flex flex-wrap items-center gap-2">
      <details className="relative" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
        <summary className="inline-flex h-8 cursor-pointer items-center rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium hover:bg-sunken">
          Filter
        </summary>
        {isOpen && (
          <Suspense>
            <FilterForm names={names} values={values} choose={choose} />
          </Suspense>
        )}
      </details>
      {chosen.map((name) => (
        <button
          key={name}
          type="button"
          onClick={() => choose({ [name]: '' })}
          className="inline-flex h-8 items-center gap-1.5 rounded-full bg-accent/10 px-3 text-xs hover:bg-accent/20"
        >
          <span className="sr-only">Remove the filter </span>
          {labels[name]} {shown(name, values[name] ?? '')}
          <Icon name="cross" size={10} />
        </button>
      ))}
    </div>
  )
}

const stateOptions = [
  ['', 'Payments'],
  ['refunded', 'Refunds'],
] as const

/** Chooses payments, or the money that went back. */
export function ListedState({ filter, choose }: Pick<ListedPayments, 'filter' | 'choose'>) {
  return (
    <Select
      variant="small"
      aria-label="Show"
      value={filter.state ?? ''}
      options={stateOptions}
      onChange={(state) => choose({ state })}
    />
  )
}
