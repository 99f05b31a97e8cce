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
import { Card, Failure, Notice } from '../../components/card.js'
import { TextArea } from '../../components/field.js'
import { Fact } from '../../components/figures.js'
import { Moment } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { words as texts } from './words.js'

const words = texts.attestation

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
      <PageTitle title={words.page.title}>{words.page.lead}</PageTitle>
      <form onSubmit={submit} noValidate className="max-w-3xl space-y-4">
        <TextArea
          label={words.title}
          hint={words.page.hint}
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
          {words.page.submit}
        </Button>
      </form>
      <div className="mt-8 max-w-3xl space-y-5" aria-live="polite">
        <Failure title={words.checkFailed} of={check.error} />
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
        {query.isPending ? words.loading : query.isError ? query.error.message : words.none}
      </p>
    )
  }
  const verdict = check.data?.verdict
  return (
    <div className="space-y-3 text-sm">
      <p className="text-muted">
        <Sentence
          text={words.signedBy}
          parts={{
            signer: (
              <Hex hex={attestation.payload.facilitator} kind="address" network={payment.network} />
            ),
          }}
        />
      </p>
      <div aria-live="polite">
        <Failure title={words.checkFailed} of={check.error} />
        {verdict === undefined ? (
          <Button size="sm" isBusy={check.isPending} onClick={() => check.mutate(attestation)}>
            {words.check}
          </Button>
        ) : (
          <Notice tone={tones[verdict]} title={words.verdicts[verdict].title}>
            {words.verdicts[verdict].meaning} {words.extent}
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
    return { ok: false, problem: words.page.notJson }
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
  const isOwnKey = sameAddress(about.attestation?.facilitator, payload.facilitator)
  if (!sameAddress(signer, payload.facilitator)) {
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
    sameAddress(payment.payer, payload.payer) &&
    sameAddress(payment.payTo, payload.payee) &&
    sameAddress(payment.asset, payload.asset)
  )
}

const tones = {
  match: 'ok',
  mismatch: 'bad',
  notFound: 'warn',
  wrongSignature: 'bad',
} as const

/** The latest time that a browser can show, Unix milliseconds. */
const LAST_MS = 8.64e15

function Observed({ seconds }: { seconds: string }) {
  const at = Number(seconds) * 1_000
  return at <= LAST_MS ? <Moment at={at} /> : words.farTime(seconds)
}

function Found({ finding }: { finding: Finding }) {
  const { payload, verdict, signer, isOwnKey } = finding
  const { title, meaning } = words.verdicts[verdict]
  const { network } = payload
  return (
    <>
      <Notice tone={tones[verdict]} title={title}>
        {meaning}
      </Notice>
      <Card>
        <dl className="divide-y divide-line px-5 text-sm">
          <Fact name={texts.fact.transaction}>
            <Hex hex={payload.transaction} kind="tx" network={network} isFull />
          </Fact>
          <Fact name={texts.fact.from}>
            <Hex hex={payload.payer} kind="address" network={network} isFull />
          </Fact>
          <Fact name={texts.fact.to}>
            <Hex hex={payload.payee} kind="address" network={network} isFull />
          </Fact>
          <Fact name={words.amount}>
            <Sentence
              text={words.amountText}
              parts={{
                amount: payload.amount,
                asset: <Hex hex={payload.asset} kind="address" network={network} />,
              }}
            />
          </Fact>
          <Fact name={texts.fact.network}>
            <span className="font-mono text-xs">{network}</span>
          </Fact>
          <Fact name={words.observed}>
            <Observed seconds={payload.observedAt} />
          </Fact>
          <Fact name={words.facilitator}>
            <Hex hex={payload.facilitator} kind="address" network={network} isFull />
            <p className="text-xs text-muted">{isOwnKey ? words.ownKey : words.otherKey}</p>
          </Fact>
          {signer !== undefined && (
            <Fact name={words.signer}>
              <span className="font-mono text-xs break-all">{signer}</span>
            </Fact>
          )}
        </dl>
      </Card>
    </>
  )
}
