import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import { ApiError } from '../api/http.js'
import { paymentsQuery, settingsQuery } from '../api/queries.js'
import { Button } from '../components/button.js'
import { Card, Empty } from '../components/card.js'
import { Field, inputLook } from '../components/field.js'
import { Loaded } from '../components/loaded.js'
import { PageTitle } from '../components/page-title.js'
import { Skeleton } from '../components/skeleton.js'
import { PaymentCard } from '../lookup/payment-card.js'

const HASH = /^0x[0-9a-fA-F]{64}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Any settlement by its transaction, or by payer and nonce. The address of the page says which. */
export function Lookup() {
  const [params] = useSearchParams()
  const { data: settings } = useQuery(settingsQuery)
  const listed = settings?.networks.find((it) => it.listed)?.network
  const tx = params.get('tx')
  const payer = params.get('payer')
  const nonce = params.get('nonce')
  const network = params.get('network') ?? listed
  const path =
    tx !== null && HASH.test(tx)
      ? tx
      : payer !== null && nonce !== null && network !== undefined
        ? `${encodeURIComponent(network)}/${encodeURIComponent(payer)}/${encodeURIComponent(nonce)}`
        : undefined
  return (
    <>
      <PageTitle title="Look up a settlement">
        Find a payment by its transaction hash, or by payer and nonce where there is no transaction
        yet.
      </PageTitle>
      <LookupForm key={params.toString()} />
      <div className="mt-8" aria-live="polite">
        {path !== undefined && <Found path={path} />}
      </div>
    </>
  )
}

function LookupForm() {
  const [params, setParams] = useSearchParams()
  const [first, setFirst] = useState(params.get('tx') ?? params.get('payer') ?? '')
  const [nonce, setNonce] = useState(params.get('nonce') ?? '')
  const [problem, setProblem] = useState<{ first?: string; nonce?: string }>({})
  const isPayer = ADDRESS.test(first.trim())

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const word = first.trim()
    if (HASH.test(word)) return setParams({ tx: word })
    if (!isPayer) {
      return setProblem({
        first: 'Give a transaction hash (0x and 64 digits) or an address (0x and 40).',
      })
    }
    if (!HASH.test(nonce.trim())) return setProblem({ nonce: 'The nonce is 0x and 64 digits.' })
    setParams({ payer: word, nonce: nonce.trim() })
  }

  const submitButton = (
    <Button type="submit" look="primary">
      Look up
    </Button>
  )

  return (
    <form onSubmit={submit} noValidate className="max-w-3xl space-y-4">
      <Field label="Transaction hash or payer address" error={problem.first}>
        {(field) => (
          <div className="flex gap-2">
            <input
              {...field}
              value={first}
              onChange={(event) => {
                setFirst(event.target.value)
                setProblem({})
              }}
              placeholder="0x…"
              spellCheck={false}
              autoComplete="off"
              className={`${inputLook} font-mono`}
            />
            {!isPayer && submitButton}
          </div>
        )}
      </Field>
      {isPayer && (
        <Field label="Nonce" hint="Of the payer’s signed authorization." error={problem.nonce}>
          {(field) => (
            <div className="flex gap-2">
              <input
                {...field}
                value={nonce}
                onChange={(event) => {
                  setNonce(event.target.value)
                  setProblem({})
                }}
                placeholder="0x…"
                spellCheck={false}
                autoComplete="off"
                className={`${inputLook} font-mono`}
              />
              {submitButton}
            </div>
          )}
        </Field>
      )}
    </form>
  )
}

function Found({ path }: { path: string }) {
  const query = useQuery(paymentsQuery(path))
  const isBad = query.error instanceof ApiError && query.error.status === 400
  return (
    <Loaded
      query={query}
      skeleton={<Skeleton className="h-64 w-full !rounded-2xl" />}
      missing={
        <Card>
          <Empty title="No such payment here">
            {isBad
              ? query.error?.message
              : 'Arcus has not settled it, or it was settled elsewhere.'}
          </Empty>
        </Card>
      }
    >
      {(payments) => (
        <div className="space-y-5">
          {payments.length > 1 && (
            <p className="text-sm text-muted">
              This transaction carried {payments.length} payments together.
            </p>
          )}
          {payments.map((payment) => (
            <PaymentCard key={payment.payer + payment.nonce} payment={payment} />
          ))}
        </div>
      )}
    </Loaded>
  )
}
