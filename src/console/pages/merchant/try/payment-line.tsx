import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import { duration } from '../../../format/amounts.js'

/** Draws how far a payment has come, as the journal of the service says it, with the time of each step since the first. */
export function PaymentLine({ payment }: { payment: PaymentStatus | undefined }) {
  const steps = stepsOf(payment)
  return (
    <div>
      <ol className="flex">
        {steps.map(({ name, afterMs, isDone }, i) => (
          <li key={name} className={i < steps.length - 1 ? 'flex-1' : ''}>
            <div className="flex items-center" aria-hidden="true">
              <span
                className={`dot size-3 shrink-0 rounded-full border-2 transition-colors ${isDone ? 'border-ok bg-ok' : 'border-line-strong bg-paper'}`}
              />
              {i < steps.length - 1 && (
                <span className="relative mx-1 flex-1 border-t-2 border-line">
                  <span
                    className={`absolute inset-x-0 -top-0.5 origin-left border-t-2 border-ok transition-transform duration-300 ${steps[i + 1]?.isDone ? 'scale-x-100' : 'scale-x-0'}`}
                  />
                </span>
              )}
            </div>
            <p className="mt-1 text-xs font-medium">
              {name}
              <span className="sr-only">{isDone ? ': done' : ': not yet'}</span>
            </p>
            <p className="h-4 text-2xs text-muted tabular">
              {afterMs !== undefined && `after ${duration(afterMs)}`}
            </p>
          </li>
        ))}
      </ol>
      <p role="status" className="mt-1 text-sm text-muted tabular">
        {sentenceOf(payment)}
      </p>
    </div>
  )
}

interface LineStep {
  name: string
  isDone: boolean
  /** Milliseconds since the payment was accepted; `undefined` where they are not known. */
  afterMs?: number | undefined
}

function stepsOf(payment: PaymentStatus | undefined): LineStep[] {
  const state = payment?.state
  const isConfirmed = state === 'confirmed'
  return [
    { name: 'Accepted', isDone: payment !== undefined },
    {
      name: 'Sent',
      isDone: isConfirmed || state === 'submitted',
      afterMs: since(payment, payment?.sentAt),
    },
    {
      name: 'Confirmed',
      isDone: isConfirmed,
      afterMs: isConfirmed ? since(payment, payment?.updatedAt) : undefined,
    },
  ]
}

function since(payment: PaymentStatus | undefined, at: string | null | undefined) {
  if (payment === undefined || at == null) return undefined
  return Math.max(0, Date.parse(at) - Date.parse(payment.createdAt))
}

function sentenceOf(payment: PaymentStatus | undefined): string {
  if (payment === undefined) return 'This page knows of no settlement yet.'
  const sentences = {
    queued: 'Arcus has accepted the payment.',
    submitted: 'The transaction is on its way.',
    confirmed: `Settled in ${duration(since(payment, payment.updatedAt) ?? null)}.`,
    failed: 'The payment failed.',
    used: 'The payment was used in a transaction of others.',
  } satisfies Record<PaymentStatus['state'], string>
  return sentences[payment.state]
}
