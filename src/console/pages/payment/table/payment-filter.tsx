import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useId } from 'react'
import type { PaymentListFilter } from '../../../api/payment-queries.js'
import { settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { Icon } from '../../../components/icons.js'
import { useSearchState } from '../../../components/search-state.js'
import { Select } from '../../../components/select.js'
import { atomicToUsd } from '../../../format/amounts.js'
import { usdToAtomic } from '../../../format/typed-price.js'
import { shortHex } from '../../../format/untrusted-text.js'

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
  /** Where each page begins that was turned to, after the first one. */
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

type Values = Partial<Record<keyof typeof schema, string>>

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
    choose: (wanted: Values) => set({ ...values, page: '', open: '', ...wanted }),
    show: (open: string) => set({ ...values, open }),
  }
}

export type ListedPayments = ReturnType<typeof usePaymentFilter>

interface FilterFields {
  /** What can be chosen here. */
  names: readonly (keyof typeof labels)[]
  values: Partial<Record<keyof typeof labels, string | undefined>>
  choose: (wanted: Partial<Record<keyof typeof labels, string>>) => void
}

const labels = {
  seller: 'Seller',
  buyer: 'Buyer',
  min: 'At least',
  max: 'At most',
  from: 'From',
  to: 'To',
  network: 'Network',
} as const

const kinds = { min: 'money', max: 'money', from: 'date', to: 'date' } as const
const shown = (name: keyof typeof labels, value: string) => {
  if (name === 'min' || name === 'max') return atomicToUsd(value)
  return isAddress(value) ? shortHex(value) : value
}

/** Chooses what a list shows. What is chosen stands beside it, and goes at one press. */
export function PaymentFilters({ names, values, choose }: FilterFields) {
  const { data: settings } = useQuery(settingsQuery)
  const apply = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const wanted: Partial<Record<keyof typeof labels, string>> = {}
    for (const name of names) {
      const typed = String(data.get(name) ?? '').trim()
      wanted[name] =
        name in kinds && kinds[name as 'min'] === 'money' ? (usdToAtomic(typed) ?? '') : typed
    }
    event.currentTarget.closest('details')?.removeAttribute('open')
    choose(wanted)
  }
  const networks = (settings?.networks ?? []).map(({ network, name }) => [network, name] as const)
  const chosen = names.filter((name) => values[name])
  return (
    <div className="flex flex-wrap items-center gap-2">
      <details className="relative">
        <summary className="inline-flex h-8 cursor-pointer items-center rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium hover:bg-sunken">
          Filter
        </summary>
        <form
          onSubmit={apply}
          // Another choice fills the fields anew.
          key={JSON.stringify(chosen.map((name) => values[name]))}
          className="absolute top-9 left-0 z-20 grid w-[min(22rem,calc(100vw-3rem))] grid-cols-2 gap-3 rounded-xl border border-line bg-raised p-4 shadow-card"
        >
          {names.map((name) =>
            name === 'network' ? (
              networks.length > 1 && (
                <Labelled key={name} name="Network" isWide>
                  {(id) => (
                    <select id={id} name={name} defaultValue={values[name] ?? ''} className={field}>
                      <option value="">All</option>
                      {networks.map(([network, title]) => (
                        <option key={network} value={network}>
                          {title}
                        </option>
                      ))}
                    </select>
                  )}
                </Labelled>
              )
            ) : (
              <Labelled key={name} name={labels[name]} isWide={!(name in kinds)}>
                {(id) => (
                  <input
                    id={id}
                    name={name}
                    {...inputOf(name)}
                    defaultValue={fieldValue(name, values[name])}
                    className={field}
                  />
                )}
              </Labelled>
            ),
          )}
          <div className="col-span-2 flex justify-end">
            <Button type="submit" size="sm" variant="primary">
              Apply
            </Button>
          </div>
        </form>
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

const field =
  'h-9 w-full rounded-lg border border-line-strong bg-raised px-2.5 text-xs invalid:border-bad'

function Labelled({
  name,
  isWide,
  children,
}: {
  name: string
  isWide: boolean
  children: (id: string) => ReactNode
}) {
  const id = useId()
  return (
    <div className={isWide ? 'col-span-2' : ''}>
      <label htmlFor={id} className="mb-1 block text-xs text-muted">
        {name}
      </label>
      {children(id)}
    </div>
  )
}

function inputOf(name: keyof typeof labels) {
  if (name === 'from' || name === 'to') return { type: 'date', title: 'A day in UTC' }
  if (name === 'min' || name === 'max') {
    const title = 'An amount such as 0.05'
    return { pattern: '[$€]?[0-9]{1,12}([.,][0-9]{0,6})?', inputMode: 'decimal', title } as const
  }
  const pattern = '0x[0-9a-fA-F]{40}'
  return name === 'buyer'
    ? { pattern, title: 'An address: 0x and 40 hex digits', spellCheck: false }
    : {
        pattern: `${pattern}|[a-z0-9\\-]{1,81}`,
        title: 'An address, or the id of a seller',
        spellCheck: false,
      }
}

function fieldValue(name: keyof typeof labels, value: string | undefined): string {
  return value !== undefined && (name === 'min' || name === 'max')
    ? atomicToUsd(value)
    : (value ?? '')
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
