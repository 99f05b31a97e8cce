import { useMutation, useQuery } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import { type FormEvent, useState } from 'react'
import type { PaymentStatus } from '../../../api/payments.js'
import type { FacilitatorAnswer } from '../../../api/service.js'
import {
  type Attestation,
  type AttestationPayload,
  attestationDomain,
  attestationTypes,
  FACILITATOR_ATTESTATION,
  readAttestation,
} from '../../../x402/attestation.js'
import { memberOf } from '../../../x402/json.js'
import { requestJson } from '../../api/http.js'
import { attestationQuery, paymentPath } from '../../api/queries.js'
import { Button } from '../../components/button.js'
import { Card } from '../../components/card.js'
import { TextArea } from '../../components/field.js'
import { Fact } from '../../components/figures.js'
import { Moment } from '../../components/moment.js'
import { Notice } from '../../components/notice.js'
import { PageTitle } from '../../components/page.js'
import { Hex } from '../../components/untrusted-text.js'

/** The result of the check of an attestation. */
interface Finding {
  payload: AttestationPayload
  verdict: 'match' | 'mismatch' | 'notFound' | 'wrongSignature'
  /** The signer, where it is not the facilitator that the attestation names. */
  signer?: string
  /** Whether the key is the one with which this service signs now. */
  isOwnKey: boolean
}

/** Checks a settlement attestation in the browser: its form, its signature, and the payments that this service knows. */
export function AttestationCheck() {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const check = useMutation({ mutationFn: checkAttestation })

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const read = readPasted(text)
    setProblem(read.ok ? undefined : read.problem)
    if (read.ok) check.mutate(read.attestation)
    else check.reset()
  }

  return (
    <>
      <PageTitle title="Check an attestation">
        An attestation is a signed statement of a facilitator that it settled a payment. Your
        browser checks the signature. Only the chain proves that the money moved.
      </PageTitle>
      <form onSubmit={submit} noValidate className="max-w-3xl space-y-4">
        <TextArea
          label="Attestation"
          hint="The JSON of the attestation, or the whole answer of settle that carries it."
          error={problem}
          value={text}
          onChange={(value) => {
            setText(value)
            setProblem(undefined)
          }}
          rows={8}
          isCode
        />
        <Button type="submit" variant="primary" disabled={check.isPending}>
          Check
        </Button>
      </form>
      <div className="mt-8 max-w-3xl space-y-5" aria-live="polite">
        {check.isError && (
          <Notice tone="bad" title="The check could not be made">
            {check.error.message}
          </Notice>
        )}
        {check.data !== undefined && <Found finding={check.data} />}
      </div>
    </>
  )
}

/** Offers the attestation of a payment that settled here, and checks it on request. */
export function OwnAttestation({ payment }: { payment: PaymentStatus }) {
  const query = useQuery(attestationQuery(paymentPath(payment, '/attestation')))
  const check = useMutation({ mutationFn: checkAttestation })
  const { data: attestation } = query
  if (attestation === undefined || attestation === null) {
    return (
      <p className="text-sm text-muted">
        {query.isPending
          ? 'Looking for it…'
          : query.isError
            ? query.error.message
            : 'None was signed: Arcus had no key for attestations then, or its database was restored.'}
      </p>
    )
  }
  const found = check.data && verdicts[check.data.verdict]
  return (
    <div className="space-y-3 text-sm">
      <p className="text-muted">
        Signed by{' '}
        <Hex hex={attestation.payload.facilitator} kind="address" network={payment.network} />
      </p>
      <div aria-live="polite">
        {check.isError && (
          <Notice tone="bad" title="The check could not be made">
            {check.error.message}
          </Notice>
        )}
        {found === undefined ? (
          <Button size="sm" isBusy={check.isPending} onClick={() => check.mutate(attestation)}>
            Check it
          </Button>
        ) : (
          <Notice tone={found.tone} title={found.title}>
            {found.meaning} Your browser checked the signature and compared the statement with the
            record of Arcus. It did not ask the chain.
          </Notice>
        )}
      </div>
    </div>
  )
}

type Pasted = { ok: true; attestation: Attestation } | { ok: false; problem: string }

/** Reads what somebody pasted: an attestation, or an answer with one inside. */
function readPasted(text: string): Pasted {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, problem: 'This is no JSON. Paste the attestation as it was given to you.' }
  }
  const extension = memberOf(memberOf(value, 'extensions'), FACILITATOR_ATTESTATION)
  return readAttestation(memberOf(memberOf(extension, 'info'), 'attestation') ?? value)
}

async function checkAttestation({ payload, signature }: Attestation): Promise<Finding> {
  const { recoverTypedDataAddress } = await import('viem')
  const signer = await recoverTypedDataAddress({
    domain: attestationDomain,
    types: attestationTypes,
    primaryType: 'SettlementAttestation',
    message: {
      ...payload,
      version: BigInt(payload.version),
      amount: BigInt(payload.amount),
      facilitatorFee: BigInt(payload.facilitatorFee),
      observedAt: BigInt(payload.observedAt),
    },
    signature,
  }).catch(() => 'nobody')
  const [about, payments] = await Promise.all([
    requestJson<FacilitatorAnswer>('/.well-known/x402'),
    paymentsOf(payload.transaction),
  ])
  const isOwnKey = isSame(about.attestation?.facilitator ?? '', payload.facilitator)
  if (!isSame(signer, payload.facilitator)) {
    return { payload, verdict: 'wrongSignature', signer, isOwnKey }
  }
  if (payments.length === 0) return { payload, verdict: 'notFound', isOwnKey }
  const isStated = payments.some((payment) => isAbout(payload, payment))
  return { payload, verdict: isStated ? 'match' : 'mismatch', isOwnKey }
}

async function paymentsOf(transaction: string): Promise<readonly PaymentStatus[]> {
  try {
    const found = await requestJson<{ payments: PaymentStatus[] }>(`/payments/${transaction}`)
    return found.payments.filter(({ state }) => state === 'confirmed')
  } catch (error) {
    if (error instanceof ArcusError && error.status === 404) return []
    throw error
  }
}

function isAbout(payload: AttestationPayload, payment: PaymentStatus): boolean {
  return (
    payment.network === payload.network &&
    payment.amount === payload.amount &&
    isSame(payment.payer, payload.payer) &&
    isSame(payment.payTo, payload.payee) &&
    isSame(payment.asset, payload.asset)
  )
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

const verdicts = {
  match: {
    tone: 'ok',
    title: 'It matches a payment that settled here',
    meaning: 'Payer, payee, asset and amount are those of a payment in this transaction.',
  },
  mismatch: {
    tone: 'bad',
    title: 'It contradicts what settled here',
    meaning: 'The transaction is known, and no payment in it has this payer, payee and amount.',
  },
  notFound: {
    tone: 'warn',
    title: 'No such payment is known here',
    meaning: 'The signature is good. Another facilitator may have settled it: look on the chain.',
  },
  wrongSignature: {
    tone: 'bad',
    title: 'The signature is not that of the facilitator it names',
    meaning: 'Somebody changed the statement, or never had the key. Do not rely on it.',
  },
} as const

/** The latest time that a browser can show, Unix milliseconds. */
const LAST_MS = 8.64e15

function Observed({ seconds }: { seconds: string }) {
  const at = Number(seconds) * 1_000
  return at <= LAST_MS ? <Moment at={at} /> : `${seconds} seconds after 1970`
}

function Found({ finding }: { finding: Finding }) {
  const { payload, verdict, signer, isOwnKey } = finding
  const { tone, title, meaning } = verdicts[verdict]
  const { network } = payload
  return (
    <>
      <Notice tone={tone} title={title}>
        {meaning}
      </Notice>
      <Card>
        <dl className="divide-y divide-line px-5 text-sm">
          <Fact name="Transaction">
            <Hex hex={payload.transaction} kind="tx" network={network} isFull />
          </Fact>
          <Fact name="From">
            <Hex hex={payload.payer} kind="address" network={network} isFull />
          </Fact>
          <Fact name="To">
            <Hex hex={payload.payee} kind="address" network={network} isFull />
          </Fact>
          <Fact name="Amount">
            {payload.amount} atomic units of{' '}
            <Hex hex={payload.asset} kind="address" network={network} />
          </Fact>
          <Fact name="Network">
            <span className="font-mono text-xs">{network}</span>
          </Fact>
          <Fact name="Observed">
            <Observed seconds={payload.observedAt} />
          </Fact>
          <Fact name="Facilitator">
            <Hex hex={payload.facilitator} kind="address" network={network} isFull />
            <p className="text-xs text-muted">
              {isOwnKey
                ? 'This service signs with this key now.'
                : 'This service does not sign with this key now. It may be an older key, or another facilitator.'}
            </p>
          </Fact>
          {signer !== undefined && (
            <Fact name="Signed by">
              <span className="font-mono text-xs break-all">{signer}</span>
            </Fact>
          )}
        </dl>
      </Card>
    </>
  )
}
