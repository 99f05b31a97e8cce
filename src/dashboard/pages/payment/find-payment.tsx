import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Redirect, useLocation, useSearchParams } from 'wouter'
import { settingsQuery } from '../../api/queries.js'
import { Button, TextLink } from '../../components/button.js'
import { TextField } from '../../components/field.js'
import { PageTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { readSearch } from '../../format/search-target.js'
import { words } from './words.js'

/** Finds a payment by its transaction, or by payer and nonce, above the newest ones. Each leads to its page. */
export function FindPayment({ children }: { children: ReactNode }) {
  return (
    <>
      <PageTitle title={words.find.title}>
        <Sentence
          text={words.find.lead}
          parts={{ check: <TextLink href="/payments/attestation">{words.find.check}</TextLink> }}
        />
      </PageTitle>
      <FindForm />
      <div className="mt-10 max-w-3xl">{children}</div>
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
    if (target.kind === 'words') return setProblem({ first: words.find.notHex })
    const second = readSearch(nonce)
    if (second.kind !== 'hash') return setProblem({ nonce: words.find.badNonce })
    if (chosen === undefined) return setProblem({ nonce: words.find.noNetworks })
    navigate(`/payments/${chosen}/${target.address}/${second.hash}`)
  }

  const submitButton = (
    <Button type="submit" variant="primary">
      {words.find.submit}
    </Button>
  )

  return (
    <form onSubmit={submit} noValidate className="max-w-3xl space-y-4">
      <TextField
        label={words.find.first}
        error={problem.first}
        value={first}
        onChange={(text) => {
          setFirst(text)
          setProblem({})
        }}
        placeholder={words.find.hexPlaceholder}
        isCode
        beside={!isPayer && submitButton}
      />
      {isPayer && networks.length > 1 && (
        <fieldset className="flex flex-wrap gap-x-5 gap-y-2 text-sm">
          <legend className="mb-1.5 font-medium">{words.find.network}</legend>
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
          label={words.find.nonce}
          hint={words.find.nonceHint}
          error={problem.nonce}
          value={nonce}
          onChange={(text) => {
            setNonce(text)
            setProblem({})
          }}
          placeholder={words.find.hexPlaceholder}
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
