import type { ActivityRow } from '@arcus/protocol/answers/activity'
import type { PaymentStatus } from '@arcus/protocol/answers/payments'

/** The state of a payment, as an answer to its seller has it or as the service keeps it. */
type PaymentState = ActivityRow['state'] | PaymentStatus['state']

type StateWords = {
  tone: 'ok' | 'warn' | 'bad' | 'plain'
  name: string
  /** One sentence about the money. */
  meaning: string
}

const settled: StateWords = {
  tone: 'ok',
  name: 'Settled',
  meaning: 'The seller has the money. This is final.',
}
const failed: StateWords = { tone: 'bad', name: 'Failed', meaning: 'No money was moved.' }

/** The words for each state of a payment, the same on every page. */
export const paymentStates: Readonly<Record<PaymentState, StateWords>> = {
  settled,
  confirmed: settled,
  failed,
  refused: { tone: 'plain', name: 'Refused', meaning: 'Nothing was sent, and no money was moved.' },
  pending: {
    tone: 'warn',
    name: 'Pending',
    meaning: 'The outcome is not known yet. Nobody pays twice for it.',
  },
  queued: {
    tone: 'warn',
    name: 'Queued',
    meaning: 'Accepted, and waiting for its transaction.',
  },
  submitted: {
    tone: 'warn',
    name: 'Sent',
    meaning: 'Sent to the chain. This page updates by itself.',
  },
  used: {
    tone: 'warn',
    name: 'Used elsewhere',
    meaning: 'It failed here, and others used it on chain.',
  },
  refunded: { tone: 'plain', name: 'Refund', meaning: 'The seller gave this money back.' },
  free: { tone: 'plain', name: 'Free', meaning: 'The call cost nothing, and no money was moved.' },
  valid: { tone: 'ok', name: 'Valid', meaning: 'It was checked, and could be settled.' },
  invalid: { tone: 'bad', name: 'Not valid', meaning: 'It was checked, and nothing was sent.' },
}
