import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import type { HandedAnswer } from '../../directory/activity/recorder.js'
import type {
  BarePayment,
  OfferedResource,
  RefusedOffer,
} from '../../directory/seen-in-payments/offer.js'

/** The resource of a settled payment: offered to the catalog, not described by its buyer, or refused at once. */
export type HandedOffer =
  | { offer: OfferedResource }
  | { bare: BarePayment }
  | { refused: RefusedOffer }

/** Writes answers as JSON. */
export function writeAnswers(answers: readonly HandedAnswer[]): string {
  return JSON.stringify(answers, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}

/** An answer as JSON has it. */
type WrittenAnswer = Omit<HandedAnswer, 'gasCost' | 'payment'> & {
  gasCost: string | null
  payment: Omit<PaymentAnswer['payment'], 'amount'> & { amount: string }
}

export function readAnswers(text: string): HandedAnswer[] {
  return (JSON.parse(text) as WrittenAnswer[]).map((answer) => ({
    ...answer,
    gasCost: answer.gasCost === null ? null : BigInt(answer.gasCost),
    payment: { ...answer.payment, amount: BigInt(answer.payment.amount) },
  }))
}

/** Writes an offer as JSON. */
export function writeOffer(handed: HandedOffer): string {
  return JSON.stringify(handed, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}

export function readOfferRow(text: string): HandedOffer {
  const handed = JSON.parse(text) as HandedOffer
  if ('refused' in handed) return handed
  if ('bare' in handed) {
    return { bare: { ...handed.bare, amount: BigInt(handed.bare.amount) } }
  }
  const { terms } = handed.offer
  return { offer: { ...handed.offer, terms: { ...terms, amount: BigInt(terms.amount) } } }
}
