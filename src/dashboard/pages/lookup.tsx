import { useQuery } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import { type FormEvent, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { PaymentStatus } from '../../api/payments.js'
import { paymentsQuery, settingsQuery } from '../api/queries.js'
import { Badge, type Tone } from '../components/badge.js'
import { Button } from '../components/button.js'
import { Card, Empty } from '../components/card.js'
import { TextField } from '../components/field.js'
import { Fact, Money, Usd } from '../components/figures.js'
import { Loaded, Skeleton } from '../components/loaded.js'
import { Moment } from '../components/moment.js'
import { PageTitle } from '../components/page.js'
import { Hex, UntrustedText } from '../components/untrusted-text.js'
import { reasonName } from '../format/verdicts.js'

const HASH = /^0x[0-9a-fA-F]{64}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Finds a settlement by its transaction, or by payer and nonce. The address of the page holds them. */
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
        yet. A signed statement about a payment can be{' '}
        <Link
          href="/lookup/attestation"
          className="underline decoration-line-strong underline-offset-4 hover:text-accent"
        >
          checked here
        </Link>
        .
      </PageTitle>
      <LookupForm key={params.toString()} />
      <div className="mt-8" aria-live="polite">
        {path !== undefined && <FoundPayments path={path} />}
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
    const given = first.trim()
    if (HASH.test(given)) return setParams({ tx: given })
    if (!isPayer) {
      return setProblem({
        first: 'Give a transaction hash (0x and 64 digits) or an address (0x and 40).',
      })
    }
    if (!HASH.test(nonce.trim())) return setProblem({ nonce: 'The nonce is 0x and 64 digits.' })
    setParams({ payer: given, nonce: nonce.trim() })
  }

  const submitButton = (
    <Button type="submit" variant="primary">
      Look up
    </Button>
  )

  return (
    <form onSubmit={submit} noValidate className="max-w-3xl space-y-4">
      <TextField
        label="Transaction hash or payer address"
        error={problem.first}
        value={first}
        onChange={(text) => {
          setFirst(text)
          setProblem({})
        }}
        placeholder="0x…"
        isCode
        beside={!isPayer && submitButton}
      />
      {isPayer && (
        <TextField
          label="Nonce"
          hint="The nonce of the authorization that the payer signed."
          error={problem.nonce}
          value={nonce}
          onChange={(text) => {
            setNonce(text)
            setProblem({})
          }}
          placeholder="0x…"
          isCode
          beside={submitButton}
        />
      )}
    </form>
  )
}

function FoundPayments({ path }: { path: string }) {
  const query = useQuery(paymentsQuery(path))
  const isBad = query.error instanceof ArcusError && query.error.status === 400
  return (
    <Loaded
      query={query}
      skeleton={<Skeleton className="h-64 w-full !rounded-2xl" />}
      missing={
        <Card>
          <Empty title="No such payment here">
            {isBad ? query.error?.message : 'Arcus has not settled this payment.'}
          </Empty>
        </Card>
      }
    >
      {(payments) => (
        <div className="space-y-5">
          {payments.length > 1 && (
            <p className="text-sm text-muted">
              This transaction carried {payments.length} payments.
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

const states: Record<PaymentStatus['state'], { tone: Tone; name: string; meaning: string }> = {
  queued: { tone: 'warn', name: 'Queued', meaning: 'Accepted, and waiting for its transaction.' },
  submitted: {
    tone: 'warn',
    name: 'Submitted',
    meaning: 'Sent to the network. This page follows it.',
  },
  confirmed: {
    tone: 'ok',
    name: 'Confirmed',
    meaning: 'The merchant has the money. This is final.',
  },
  failed: { tone: 'bad', name: 'Failed', meaning: 'No money was moved.' },
}

export function PaymentCard({ payment }: { payment: PaymentStatus }) {
  const { tone, name, meaning } = states[payment.state]
  const { network, transaction, errorReason, errorMessage } = payment
  return (
    <Card className="max-w-3xl">
      <div className="flex flex-wrap items-start justify-between gap-4 border-b border-line px-5 py-4">
        <div>
          <p className="text-3xl font-semibold tracking-tight">
            <Money {...payment} />
          </p>
          <p className="text-sm text-muted">{meaning}</p>
        </div>
        <Badge tone={tone}>{name}</Badge>
      </div>
      <dl className="divide-y divide-line px-5 text-sm">
        <Fact name="From">
          <Hex hex={payment.payer} kind="address" network={network} isFull />
        </Fact>
        <Fact name="To">
          <Hex hex={payment.payTo} kind="address" network={network} isFull />
        </Fact>
        <Fact name="Transaction">
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
        </Fact>
        <Fact name="Nonce">
          <span className="font-mono text-xs break-all">{payment.nonce}</span>
        </Fact>
        {errorReason !== null && (
          <Fact name="Reason">
            <span title={errorReason}>{reasonName(errorReason)}</span>
            {errorMessage !== null && (
              <p className="text-muted">
                <UntrustedText text={errorMessage} max={400} />
              </p>
            )}
          </Fact>
        )}
        <Fact name="Success delivered">{payment.delivered ? 'yes, once' : 'not yet'}</Fact>
        {payment.gasUsd !== null && (
          <Fact name="Gas, paid by the relayer">
            <Usd usd={payment.gasUsd} />
          </Fact>
        )}
        <Fact name="Network">
          <span className="font-mono text-xs">{network}</span>
        </Fact>
        <Fact name="First seen">
          <Moment at={payment.createdAt} />
        </Fact>
        <Fact name="Last change">
          <Moment at={payment.updatedAt} />
        </Fact>
      </dl>
      <div className="flex gap-4 border-t border-line px-5 py-3 text-xs text-muted">
        {payment.state === 'confirmed' && (
          <a
            href={`/payments/${network}/${payment.payer}/${payment.nonce}/receipt?asset=${payment.asset}`}
            className="underline decoration-line-strong underline-offset-4 hover:text-accent"
          >
            Receipt
          </a>
        )}
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
