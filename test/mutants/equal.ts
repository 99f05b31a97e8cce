/**
 * Faults that change nothing that anybody could see. They are put in all the same: one that
 * is noticed does not belong here.
 */
export const equal: readonly (readonly [name: string, reason: string])[] = [
  [
    'src/facilitator/relayer/sending.ts isTakenAnywhere: await keeper.markRefused(attempt) -> void keeper.markRefused(attempt)',
    'The row is renamed a moment later.',
  ],
  [
    'src/facilitator/relayer/repairs.ts repairStuck: await landMissed(lane, stale) -> void landMissed(lane, stale)',
    'The receipt lands a moment later.',
  ],
  [
    'src/facilitator/methods/checks.ts checkMinimum: minAmount > 1n -> minAmount >= 1n',
    'Both are one unit where the minimum is one.',
  ],
  [
    'src/facilitator/relayer/gas-charge.ts lossesOfMembers: burnt < most -> burnt <= most',
    'Both are the same amount where they are equal.',
  ],
  [
    'packages/client/src/pay.ts payOnce: await first.response.body?.cancel() -> void first.response.body?.cancel()',
    'The connection of the first answer is free a moment later.',
  ],
]
