/** Faults that no change of syntax makes: another argument, another order, another form. */
export interface Written {
  file: string
  promise: string
  /** Found once in the file. */
  find: string
  replace: string
  tests: readonly string[]
}

export const written: readonly Written[] = [
  {
    file: 'src/facilitator/settle/settler.ts',
    promise: 'ids of the extension are each payer’s own',
    find: 'identifierKey(payment.network, payment.authorization.from, id)',
    replace: 'identifierKey(payment.network, payment.asset, id)',
    tests: ['test/chain/payment-identifier.test.ts'],
  },
  {
    file: 'src/facilitator/settle/settler.ts',
    promise: 'an Idempotency-Key has sixteen characters at least',
    find: '{16,128}$/.test(key)',
    replace: '{1,128}$/.test(key)',
    tests: ['test/unit/facilitator/settle/settler.test.ts'],
  },
  {
    file: 'src/sql/lease-keeper.ts',
    promise: 'a lease counts from when the store was asked',
    find: 'askedAt + store.durationMs - SAFETY_MS',
    replace: 'performance.now() + store.durationMs - SAFETY_MS',
    tests: ['test/unit/sql/lease-keeper.test.ts'],
  },
  {
    file: 'src/facilitator/journal/rebuilt-jobs.ts',
    promise: 'a repaired payment counts as answered',
    find: 'COALESCE(delivered_at, $11)',
    replace: 'COALESCE(delivered_at, $11 * NULL)',
    tests: ['test/unit/app/stores/sqlite.test.ts'],
  },
  {
    file: 'src/facilitator/batch/outcomes.ts',
    promise: 'an answer shows the channel after its transaction',
    find: 'Math.max(job.blockNumber ?? 0, headBlock())',
    replace: 'headBlock()',
    tests: ['test/unit/facilitator/batch/outcomes.test.ts'],
  },
  {
    file: 'packages/protocol/src/x402/attestation-digest.ts',
    promise: 'an attestation names the account that was credited',
    find: 'hashText(payload.payee)',
    replace: 'hashText(payload.payer)',
    tests: ['test/property/attestation-digest.test.ts'],
  },
  {
    file: 'packages/protocol/src/x402/payment-identifier.ts',
    promise: 'the nonce of a refund follows from the payment',
    find: 'network, asset, payer, paymentNonce]',
    replace: 'network, asset, payer, String(Math.random())]',
    tests: ['test/unit/merchant/refunds.test.ts'],
  },
]
