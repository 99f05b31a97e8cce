import type { Intent } from '../../../../src/facilitator/methods/payment-method.js'
import { aPayment } from '../../protocol/x402/a-payment.js'

/** A payment that every check let pass, as it is claimed. */
export function anIntent(changes: Partial<Intent> = {}): Intent {
  const payment = changes.payment ?? aPayment()
  return {
    payment,
    digest: '0xd1',
    signature: payment.signature,
    isAlone: false,
    permit: undefined,
    balance: payment.amount,
    provenInBlock: undefined,
    seenBlock: 41,
    failedJob: undefined,
    caller: '',
    standing: 'none',
    ...changes,
  }
}
