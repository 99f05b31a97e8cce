import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import {
  type Attestation,
  type AttestationPayload,
  attestationDomain,
  attestationTypes,
} from '@arcus/protocol/x402/attestation'
import { useMutation, useQuery } from '@tanstack/react-query'
import { attestationQuery, paymentPath } from '../../api/payment-queries.js'
import { Button } from '../../components/button.js'
import { Failure, Notice, Section } from '../../components/card.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'

/** Offers the attestation of a payment that settled here, and checks it on request. Without one nothing is shown. */
export function OwnAttestation({ payment }: { payment: PaymentStatus }) {
  const { data: attestation } = useQuery(attestationQuery(paymentPath(payment, '/attestation')))
  const check = useMutation({ mutationFn: (it: Attestation) => checkAttestation(it, payment) })
  if (attestation === undefined || attestation === null) return null
  const verdict = check.data
  return (
    <Section title="Attestation">
      <div className="space-y-3 text-sm">
        <p className="text-muted">
          Signed by{' '}
          <Hex hex={attestation.payload.facilitator} kind="address" network={payment.network} />
        </p>
        <div aria-live="polite">
          <Failure title="The check could not be made" of={check.error} />
          {verdict === undefined ? (
            <Button size="sm" isBusy={check.isPending} onClick={() => check.mutate(attestation)}>
              Check it
            </Button>
          ) : (
            <Notice tone={verdicts[verdict].tone} title={verdicts[verdict].title}>
              {verdicts[verdict].meaning} Your browser checked the signature and compared the
              statement with this payment. It did not ask the chain.
            </Notice>
          )}
        </div>
      </div>
    </Section>
  )
}

const verdicts = {
  match: {
    tone: 'ok',
    title: 'It states this payment',
    meaning: 'Payer, recipient, token and amount are those of the payment.',
  },
  mismatch: {
    tone: 'bad',
    title: 'It states another payment',
    meaning: 'Payer, recipient, token or amount differ. Do not rely on it.',
  },
  wrongSignature: {
    tone: 'bad',
    title: 'The signature is not that of the facilitator it names',
    meaning: 'Somebody changed the statement, or never had the key. Do not rely on it.',
  },
} as const

async function checkAttestation(
  { payload, signature }: Attestation,
  payment: PaymentStatus,
): Promise<keyof typeof verdicts> {
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
  }).catch(() => undefined)
  if (!sameAddress(signer, payload.facilitator)) return 'wrongSignature'
  return isAbout(payload, payment) ? 'match' : 'mismatch'
}

function isAbout(payload: AttestationPayload, payment: PaymentStatus): boolean {
  return (
    payload.transaction === payment.transaction &&
    payment.network === payload.network &&
    payment.amount === payload.amount &&
    sameAddress(payment.payer, payload.payer) &&
    sameAddress(payment.payTo, payload.payee) &&
    sameAddress(payment.asset, payload.asset)
  )
}
