import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState, type ReactNode } from 'react'
import { useSearchParams, Link } from 'wouter'
import { ApiError } from '../api/http.js'
import { paymentsQuery, settingsQuery } from '../api/queries.js'
import { Button } from '../components/button.js'
import { Card, Empty } from '../components/card.js'
import { Field, inputLook } from '../components/field.js'
import { Loaded, Skeleton } from '../components/loaded.js'
import { PageTitle } from '../components/page.js'
import { type Payment } from "../api/types.js";
import { Badge, type Tone } from "../components/badge.js";
import { Usd } from "../components/figures.js";
import { Moment } from "../components/moment.js";
import { UntrustedText, Hex } from "../components/untrusted-text.js";
import { atomicToUsd } from "../format/amounts.js";
import { reasonName } from "../format/verdicts.js";

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

const states: Record<Payment['state'], { tone: Tone; name: string; meaning: string }> = {
  queued: { tone: 'warn', name: 'Queued', meaning: 'Claimed, and waiting for its transaction.' },
  submitted: { tone: 'warn', name: 'Submitted', meaning: 'On its way; this page follows it.' },
  confirmed: {
    tone: 'ok',
    name: 'Confirmed',
    meaning: 'The money is with the merchant. This is final.',
  },
  failed: { tone: 'bad', name: 'Failed', meaning: 'Nothing was moved.' },
}

export function PaymentCard({ payment }: { payment: Payment }) {
  const { tone, name, meaning } = states[payment.state]
  const { network, transaction, errorReason, errorMessage } = payment
  return (
    <Card className="max-w-3xl">
      <div className="flex flex-wrap items-start justify-between gap-4 border-b border-line px-5 py-4">
        <div>
          <p className="text-3xl font-semibold tracking-tight">
            <Usd usd={atomicToUsd(payment.amount)} />
          </p>
          <p className="text-sm text-muted">{meaning}</p>
        </div>
        <Badge tone={tone}>{name}</Badge>
      </div>
      <dl className="divide-y divide-line px-5 text-sm">
        <Row name="From">
          <Hex hex={payment.payer} kind="address" network={network} isFull />
        </Row>
        <Row name="To">
          <Hex hex={payment.payTo} kind="address" network={network} isFull />
        </Row>
        <Row name="Transaction">
          {transaction === null ? (
            'none yet'
          ) : (
            <>
              <Hex hex={transaction} kind="tx" network={network} isFull />
              {payment.blockNumber !== null && (
                <p className="text-xs text-muted">block {payment.blockNumber}</p>
              )}
            </>
          )}
        </Row>
        <Row name="Nonce">
          <span className="font-mono text-xs break-all">{payment.nonce}</span>
        </Row>
        {errorReason !== null && (
          <Row name="Reason">
            <span title={errorReason}>{reasonName(errorReason)}</span>
            {errorMessage !== null && (
              <p className="text-muted">
                <UntrustedText text={errorMessage} max={400} />
              </p>
            )}
          </Row>
        )}
        <Row name="Told the merchant">{payment.delivered ? 'yes, once' : 'not yet'}</Row>
        {payment.gasUsd !== null && (
          <Row name="Gas, paid by the relayer">
            <Usd usd={payment.gasUsd} />
          </Row>
        )}
        <Row name="Network">
          <span className="font-mono text-xs">{network}</span>
        </Row>
        <Row name="First seen">
          <Moment at={payment.createdAt} />
        </Row>
        <Row name="Last change">
          <Moment at={payment.updatedAt} />
        </Row>
      </dl>
      <div className="border-t border-line px-5 py-3 text-xs text-muted">
        <Link
          href={`/lookup?${new URLSearchParams({ network, payer: payment.payer, nonce: payment.nonce })}`}
          className="underline decoration-line-strong underline-offset-4 hover:text-accent"
        >
          Link to this payment
        </Link>
      </div>
    </Card>
  )
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-baseline gap-x-4 py-2.5">
      <dt className="w-44 shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 flex-1 basis-56 break-words">{children}</dd>
    </div>
  )
}
