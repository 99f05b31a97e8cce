/**
 * Faults of the sample that stay unnoticed by the tests of their room. Some change nothing that anybody could see; a slower
 * test is about the others, and is named, or there is none.
 */
export const known: readonly (readonly [name: string, reason: string])[] = [
  [
    'src/facilitator/relayer/lane.ts resume: slots.isTaken(relayerNonce) -> false',
    'Equal: the slot of one nonce is made of all its attempts, and takes its own place.',
  ],
  [
    'src/facilitator/relayer/lane.ts resume: signer.tryEarly() -> {}',
    'A signer that failed is tried a little later. test/faults/signers.test.ts',
  ],
  [
    'src/facilitator/relayer/lane.ts replace: isCarried -> false',
    'A wallet with code gets the headroom of a plain payment. test/chain/wasted-gas.test.ts',
  ],
  [
    'src/facilitator/relayer/gas.ts roomOf: left <= 0n -> false',
    'A payment past its budget waits where it should be refused. test/chain/plain-waste.test.ts',
  ],
  [
    'src/facilitator/relayer/gas.ts mayGo: taken.filter(({ payer }) => payer === entry.payer) -> taken',
    'Payments of others make one wait for the next transaction. test/chain/fairness.test.ts',
  ],
  ['src/facilitator/relayer/gas.ts mayGo: atRisk > 0 -> true', 'Equal: there is always some room.'],
  [
    'src/facilitator/relayer/preparation.ts simulateAlone: result.gas < cap -> true',
    'Gas above the cap is refused one step later. test/chain/worthless-gas.test.ts',
  ],
  [
    'src/facilitator/verify/payment-check.ts checkSignature: isWrapped -> false',
    'A signature by ERC-6492. test/chain/verify-codes.test.ts',
  ],
  [
    'src/facilitator/settle/deliveries.ts isHeld: performance.now() - heldSince < FRESH_MS -> false',
    'Equal but for a question to the store more.',
  ],
  [
    'src/sql/sqlite/group-commit.ts syncCommitted: schedule() -> {}',
    'Equal: the loop above it leaves nothing that waits.',
  ],
  [
    'src/facilitator/journal/sqlite/deliveries.ts createDeliveryStore: delivered_at IS NULL -> (delivered_at IS NULL OR TRUE) #2',
    'Equal: a delivered row has no token.',
  ],
  [
    'src/facilitator/journal/sqlite/deliveries.ts dropLeases: commit.write -> commit.writeUnsynced',
    'Equal: each start drops them.',
  ],
  [
    'src/facilitator/journal/sqlite/settlement-journal.ts prepareSettlementStatements: is_open = 1 -> (is_open = 1 OR TRUE) #2',
    'Equal: what is closed is closed again.',
  ],
  [
    'packages/client/src/pay.ts payOnce: await first.response.body?.cancel() -> void first.response.body?.cancel()',
    'The connection of the first answer is free a little later.',
  ],
  [
    'packages/client/src/pay.ts payOnce: isOurs -> false #2',
    'Only which of two sentences is shown.',
  ],
]
