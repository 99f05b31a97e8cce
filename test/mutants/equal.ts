/**
 * Faults of the functions in `rooms.ts` that change nothing that anybody could see. They are put in all the same: one that
 * is noticed does not belong here.
 */
export const equal: readonly (readonly [name: string, reason: string])[] = [
  [
    'src/facilitator/journal/budgets.ts requireBudget: amount > 0n -> amount >= 0n',
    'Without an amount the sums that are asked are not strict, and their limit is asked before.',
  ],
  [
    'src/facilitator/relayer/gas-charge.ts chargeOfMembers: attempt.jobIds.length === 1 -> false',
    'One payment alone is charged to its payer in any case, by one read more.',
  ],
  [
    'src/facilitator/relayer/gas-charge.ts findFailed: jobIds.every((id) => known.includes(id)) -> false',
    'The journal is read once more, and has nothing to add.',
  ],
  [
    'src/facilitator/relayer/sending.ts isTakenAnywhere: await keeper.markRefused(attempt) -> void keeper.markRefused(attempt)',
    'The row is renamed a moment later.',
  ],
  [
    'src/facilitator/relayer/repairs.ts repairStuck: await landMissed(lane, stale) -> void landMissed(lane, stale)',
    'The receipt lands a moment later.',
  ],
  [
    'src/facilitator/relayer/gas.ts budgetsOf: given > 0n -> true',
    'A strict sum is never exceeded, so there is always room for nothing.',
  ],
  [
    'src/facilitator/verify/checks.ts checkMinimum: minAmount > 1n -> minAmount >= 1n',
    'Both are one unit where the minimum is one.',
  ],
  [
    'packages/client/src/pay.ts payOnce: await first.response.body?.cancel() -> void first.response.body?.cancel()',
    'The connection of the first answer is free a moment later.',
  ],
]
