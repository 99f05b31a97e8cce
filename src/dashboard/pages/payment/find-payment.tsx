import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Link, Redirect, useLocation, useSearchParams } from 'wouter'
import { settingsQuery } from '../../api/queries.js'
import { Button, quietLink } from '../../components/button.js'
import { TextField } from '../../components/field.js'
import { PageTitle } from '../../components/page.js'
import { readSearch } from '../../format/search-target.js'

/** Finds a payment by its transaction, or by payer and nonce, and leads to its page. */
export function FindPayment() {
  return (
    <>
      <PageTitle title="Find a payment">
        Give the hash of its transaction, or its payer and nonce where there is no transaction yet.
        An attestation of a payment can be{' '}
        <Link href="/payments/attestation" className={quietLink}>
          checked here
        </Link>
        .
      </PageTitle>
      <FindForm />
    </>
  )
}

function FindForm() {
  const [params] = useSearchParams()
  const [, navigate] = useLocation()
  const { data: settings } = useQuery(settingsQuery)
  const [first, setFirst] = useState(params.get('payer') ?? '')
  const [nonce, setNonce] = useState('')
  const [network, setNetwork] = useState<string>()
  const [problem, setProblem] = useState<{ first?: string; nonce?: string }>({})
  const networks = settings?.networks ?? []
  const chosen = network ?? networks.find(({ listed }) => listed)?.network
  const target = readSearch(first)
  const isPayer = target.kind === 'address'

  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (target.kind === 'hash') return navigate(`/payments/${target.hash}`)
    if (target.kind === 'words') {
      return setProblem({ first: 'Give a transaction hash (64 hex digits) or an address (40).' })
    }
    const second = readSearch(nonce)
    if (second.kind !== 'hash') return setProblem({ nonce: 'The nonce has 64 hex digits.' })
    if (chosen === undefined) return setProblem({ nonce: 'The networks could not be read yet.' })
    navigate(`/payments/${chosen}/${target.address}/${second.hash}`)
  }

  const submitButton = (
    <Button type="submit" variant="primary">
      Find
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
      {isPayer && networks.length > 1 && (
        <fieldset className="flex flex-wrap gap-x-5 gap-y-2 text-sm">
          <legend className="mb-1.5 font-medium">Network</legend>
          {networks.map(({ network: one, name }) => (
            <label key={one} className="inline-flex items-center gap-2">
              <input
                type="radio"
                name="network"
                checked={chosen === one}
                onChange={() => setNetwork(one)}
              />
              {name}
            </label>
          ))}
        </fieldset>
      )}
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

/** Leads an address of the former lookup on to the page of the payment. */
export function FormerLookup() {
  const [params] = useSearchParams()
  const { data: settings, isPending } = useQuery(settingsQuery)
  const { tx, payer, nonce, network } = Object.fromEntries(params)
  if (tx !== undefined) return <Redirect to={`/payments/${tx}`} replace />
  if (payer === undefined || nonce === undefined) return <Redirect to="/payments" replace />
  const listed = settings?.networks.find((it) => it.listed)?.network
  if (network === undefined && isPending) return null
  return <Redirect to={`/payments/${network ?? listed}/${payer}/${nonce}`} replace />
}
