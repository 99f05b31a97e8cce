type Explained = readonly (readonly [name: string, reason: string])[]

/** Faults that change nothing that anybody could see. They are put in all the same: one that is noticed does not belong here. */
export const equal: Explained = [
  [
    'src/facilitator/settle/deliveries.ts isHeld: performance.now() - heldSince < FRESH_MS -> false',
    'But for a question to the store more.',
  ],
  [
    'src/sql/sqlite/group-commit.ts syncCommitted: schedule() -> {}',
    'The loop above it leaves nothing that waits.',
  ],
  [
    'src/facilitator/relayer/gas-charge.ts chargeOfMembers: attempt.jobIds.length === 1 -> false',
    'But for a read of codes: one payment alone is charged to its payer in any case.',
  ],
  [
    'src/facilitator/relayer/gas-charge.ts findFailed: jobIds.every((id) => known.includes(id)) -> false',
    'But for a read of the journal.',
  ],
  [
    'src/facilitator/relayer/sending.ts alignNonce: nonce + 1 -> nonce - 1',
    'Equal, unless a nonce was given back right before the process was killed. test/faults/closed-lanes.test.ts',
  ],
  [
    'src/facilitator/relayer/sending.ts isTakenAnywhere: await keeper.markRefused(attempt) -> void keeper.markRefused(attempt)',
    'The row is renamed a moment later.',
  ],
  [
    'src/facilitator/relayer/sending.ts replace: slot.isGivenUp -> false',
    'A slot that only fills its nonce carries nothing that is open.',
  ],
  [
    'src/facilitator/relayer/repairs.ts repairStuck: await landMissed(lane, stale) -> void landMissed(lane, stale)',
    'The receipt lands a moment later.',
  ],
  [
    'src/facilitator/relayer/repairs.ts repairStuck: await send(lane, slot) -> {}',
    'While nodes take it: each was given it right before.',
  ],
  [
    'src/facilitator/relayer/sending.ts checkConsumed: slot.jobIds.clear() -> {}',
    'The jobs are counted as left already, and never below none.',
  ],
  ['src/facilitator/relayer/intake.ts POLL_MS: 50 -> 50 / 10', 'But for more reads.'],
  [
    'src/facilitator/relayer/intake.ts exchange: performance.now() + ORPHANS_EVERY_MS -> performance.now() - ORPHANS_EVERY_MS',
    'But for more reads.',
  ],
  [
    'src/facilitator/relayer/intake.ts giveUpSurplus: lane.drop() -> {}',
    'The lane is let go once its lease is gone.',
  ],
  [
    'src/facilitator/relayer/gas.ts budgetsOf: given > 0n -> true',
    'A strict sum is never exceeded, so there is always room for nothing.',
  ],
  [
    'src/facilitator/relayer/dispatcher.ts isGivenUp: !isRefusedByAll -> true',
    'While a slot carries it. test/faults/closed-lanes.test.ts',
  ],
  [
    'src/facilitator/verify/checks.ts checkMinimum: minAmount > 1n -> minAmount >= 1n',
    'Both are one unit where the minimum is one.',
  ],
  [
    'src/facilitator/journal/budgets.ts requireBudget: amount > 0n -> amount >= 0n',
    'Without an amount the sums that are asked are not strict, and their limit is asked before.',
  ],
]

/** Faults that stay unnoticed by the tests of their room: a slower test is about them, and is named, or there is none. */
export const known: Explained = [
  [
    'src/facilitator/relayer/lane.ts resume: signer.tryEarly() -> {}',
    'A signer that failed is tried a little later. test/faults/signers.test.ts',
  ],
  [
    'src/facilitator/relayer/sending.ts replace: isCarried -> false',
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
  [
    'src/facilitator/relayer/preparation.ts simulateAlone: result.gas < cap -> true',
    'Gas above the cap is refused one step later. test/chain/worthless-gas.test.ts',
  ],
  [
    'src/facilitator/verify/payment-check.ts checkSignature: isWrapped -> false',
    'A signature by ERC-6492. test/chain/verify-codes.test.ts',
  ],
  [
    'packages/client/src/pay.ts payOnce: await first.response.body?.cancel() -> void first.response.body?.cancel()',
    'The connection of the first answer is free a little later.',
  ],
  [
    'packages/client/src/pay.ts payOnce: isOurs -> false #2',
    'Only which of two sentences is shown.',
  ],
  [
    'src/facilitator/relayer/gas-charge.ts chargeOfMembers: onReserved > 0n -> false',
    'What a job with bounds of gas of its own burnt is charged to nobody. test/chain/wasted-gas.test.ts',
  ],
  [
    'src/facilitator/relayer/examiner.ts settleSlot: entry.isSettled = true -> {}',
    'Only between the receipt and the write of the outcome.',
  ],
  [
    'src/facilitator/relayer/examiner.ts settleSlot: settled.length === attempt.jobIds.length -> true',
    'An estimate of gas that is a little too high.',
  ],
  [
    'src/facilitator/relayer/examiner.ts settleSlot: unsettled.filter(({ entry }) => attempt.jobIds.includes(entry.job.id)) -> unsettled',
    'A payment that its slot gave back counts against the standing of its payer.',
  ],
  [
    'src/facilitator/relayer/sending.ts replace: jobs.findAll(slot.jobIds).filter(jobs.isOpen) -> jobs.findAll(slot.jobIds)',
    'Only between a receipt and the write of its outcome.',
  ],
  [
    'src/facilitator/relayer/repairs.ts repairStuck: await giveBackLate(lane) -> {}',
    'A transaction that was being signed while its lane closed. test/faults/closed-lanes.test.ts',
  ],
  [
    'src/facilitator/relayer/leases.ts takeFree: performance.now() >= nextBeatAt -> false',
    'Leases that are free are taken a beat later.',
  ],
  [
    'src/facilitator/relayer/dispatcher.ts carry: batch.filter(isHere) -> batch',
    'Only a job that was decided while its transaction was prepared.',
  ],
  [
    'src/facilitator/relayer/dispatcher.ts isFree: !lane.isLeaving -> true',
    'A wallet that is passed on takes one more payment before. test/faults/replicas.test.ts',
  ],
  [
    'src/facilitator/verify/payment-check.ts checkUsedNonce: (await isSinceClaim(use, claimed, isOurs)) -> true',
    'A use before the claim would count. test/chain/foreign-transactions.test.ts',
  ],
  [
    'src/facilitator/settle/deliveries.ts SWEEP_KEYS: 500 -> 500 * 10',
    'Larger commits; the same keys are deleted.',
  ],
  [
    'src/facilitator/settle/deliveries.ts take: await untilChange(jobId, Math.min(answer.leftMs, leftMs, pollMs ?? LEASE_MS)) -> void untilChange(jobId, Math.min(answer.leftMs, leftMs, pollMs ?? LEASE_MS))',
    'The store is asked without a pause; the answers are the same.',
  ],
  [
    'src/facilitator/settle/deliveries.ts isHeld: !isShared -> false',
    'A single process confirms its right once more; the answer is the same.',
  ],
  [
    'src/facilitator/verify/gas-guard.ts SUBSIDISED_SHARE: 2n -> 2n * 10n',
    'A smaller part of the ceiling is for tiny payments. test/chain/worthless-gas.test.ts',
  ],
  [
    'packages/client/src/pay.ts payOnce: await steps.choose?.(chosen) -> {}',
    'A buyer would not reserve. test/client/buyer.test.ts',
  ],
]
