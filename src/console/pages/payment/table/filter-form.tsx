import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useId } from 'react'
import { settingsQuery } from '../../../api/queries.js'
import { Button } from '../../../components/button.js'
import { atomicToUsd } from '../../../format/amounts.js'
import { usdToAtomic } from '../../../format/typed-price.js'
import { type FilterFields, labels } from './filter-fields.js'

const kinds = { min: 'money', max: 'money', from: 'date', to: 'date' } as const

/** The fields of the filters. It is loaded when somebody opens it. */
export function FilterForm({ names, values, choose }: FilterFields) {
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
  return (
    <form
      onSubmit={apply}
      // Another choice fills the fields anew.
      key={JSON.stringify(names.map((name) => values[name]))}
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
