/** Functions whose small faults the tests beside them must notice. */
export interface Room {
  tests: readonly string[]
  /** By file: names of functions and of constants, separated by spaces; all of the file when there are none. */
  of: Readonly<Record<string, string>>
  /** In the sample of the gate. */
  isMoney: boolean
}

const money = (tests: readonly string[], of: Room['of']): Room => ({ tests, of, isMoney: true })
const other = (tests: readonly string[], of: Room['of']): Room => ({ tests, of, isMoney: false })

const ofRelayer = 'payments repairs outcomes waste restart fairness replicas gas'

/** The tests of the relayer, those with these names first. */
const relayer = (...names: string[]) =>
  [...new Set([...names, ...ofRelayer.split(' ')])].map(
    (it) => `test/unit/facilitator/relayer/${it}.test.ts`,
  )

const client = (...names: string[]) => names.map((it) => `test/unit/client/${it}.test.ts`)

export const rooms: readonly Room[] = [
  money(['test/unit/chain/authorization-uses.test.ts'], {
    'src/chain/authorization-uses.ts':
      'findOwnTransfer isExpectedTransfer isUse readUse remember PATIENCE_MS',
  }),
  money(['test/unit/chain/receipts.test.ts'], { 'src/chain/receipts.ts': 'parse parseLog' }),
  money(['test/unit/chain/permit2.test.ts', 'test/unit/chain/permit2-uses.test.ts'], {
    'src/chain/permit2.ts': 'findSettlement isCalled isSettled relationOf',
    'src/chain/permit2-uses.ts': 'createSearch paidBy',
    'src/chain/call-trace.ts': 'effectiveCalls',
  }),
  money(relayer('gas-charge', 'outcomes', 'waste'), {
    'src/facilitator/relayer/gas-charge.ts':
      'addSettled blameFor findCoded findGasCharge lossesOfFailure lossesOfMembers',
    'src/facilitator/relayer/outcomes.ts': 'keep refuse resolve',
  }),
  money(relayer('payments', 'repairs', 'outcomes'), {
    'src/facilitator/relayer/outcomes.ts':
      'createGasShares markRefused markTaken readSlotResult rename',
    'src/facilitator/relayer/examiner.ts':
      '#confirm #examineOnce failedBy #isFree refuseResend #settleSlot MAX_RESENDS MAX_WALLET_RESENDS',
  }),
  money(relayer('repairs', 'restart'), {
    'src/facilitator/relayer/lane/lane.ts':
      '#alignNonce checkConsumed #closeWith giveBack #isTakenAnywhere offer #openAt replace resume #sendNow #sign',
    'src/facilitator/relayer/lane/repairs.ts':
      '#checkReopening #fillGaps #followBaseFee #isPassedOver #noteNext #repairStuck',
    'src/facilitator/relayer/lane/slot.ts': 'noteGaps takeNonce',
  }),
  money(relayer('replicas', 'restart'), {
    'src/facilitator/relayer/lane/lane.ts': '#mayWork #requireEpoch',
    'src/facilitator/relayer/intake.ts': '',
  }),
  money(relayer('gas'), {
    'src/facilitator/relayer/gas.ts': 'quoteFees bumpFees BUMP_PERCENT',
  }),
  money(relayer('waste', 'budgets'), {
    'src/facilitator/relayer/waste.ts':
      '#beginPass budgetsOf headroomFor #isPaused #isWithin mayGo #mayRisk noteEnd #ofCoded #ofPlain spentBudget MAX_UNDER_WAY',
  }),
  money(['test/unit/sql/lease-keeper.test.ts', ...relayer('replicas')], {
    'src/sql/lease-keeper.ts': 'held #renew #takeFree',
  }),
  money(relayer('payments', 'outcomes', 'waste'), {
    'src/facilitator/relayer/preparation.ts':
      'checkGain dropHopeless keepPlain simulateAlone dropFailed',
  }),
  money(relayer('payments', 'fairness', 'waste', 'restart'), {
    'src/facilitator/relayer/dispatcher.ts':
      '#carry #freeLanes #giveUp #isGathering #isGivenUp #leaveAt #postpone #putBack #quote #refuse #stopAtBudget #takeForAnyLane',
    'src/facilitator/relayer/batch-size.ts': 'maxMembers',
  }),
  money(relayer('fairness', 'payments'), {
    'src/facilitator/relayer/queue.ts': 'take add putBack inTurn',
  }),
  money(relayer('signer'), { 'src/facilitator/relayer/signer.ts': '' }),
  money(
    [
      'test/unit/facilitator/methods/checks.test.ts',
      'test/unit/facilitator/verify/payment-check.test.ts',
    ],
    {
      'src/facilitator/methods/checks.ts': '',
    },
  ),
  money(['test/unit/facilitator/verify/payment-check.test.ts'], {
    'src/facilitator/verify/payment-check.ts': '',
  }),
  money(
    [
      'test/unit/facilitator/methods/exact-job.test.ts',
      'test/unit/facilitator/relayer/outcomes.test.ts',
      'test/unit/facilitator/verify/payment-check.test.ts',
    ],
    { 'src/facilitator/methods/exact-job.ts': '' },
  ),
  money(['test/unit/facilitator/settle/settler.test.ts'], {
    'src/facilitator/settle/settler.ts': 'answer checkKey refresh settle',
  }),
  money(['test/unit/facilitator/settle/deliveries.test.ts'], {
    'src/facilitator/settle/deliveries.ts': '',
  }),
  money(['test/unit/facilitator/verify/gas-guard.test.ts'], {
    'src/facilitator/verify/gas-guard.ts': '',
  }),
  money(['test/unit/facilitator/verify/recipients.test.ts'], {
    'src/facilitator/verify/recipients.ts': '',
  }),
  money(['test/chain/permit2.test.ts'], {
    'src/facilitator/methods/permit2-checks.ts': 'amount facilitator spender',
    'src/facilitator/methods/permit2-job.ts': 'checkAllowance',
  }),
  money(
    ['test/unit/facilitator/journal/durable-writes.test.ts', 'test/unit/app/stores/sqlite.test.ts'],
    {
      'src/sql/sqlite/group-commit.ts': 'syncCommitted',
      'src/facilitator/journal/budgets.ts': 'findLack',
      'src/facilitator/journal/deliveries.ts': '',
      'src/facilitator/journal/sql-journal.ts':
        'claim createSettlementJournal nameTransaction recordFound reopen',
      'src/facilitator/journal/sqlite/commits.ts':
        'decide insert insertFound isOnChain prepareStatements recordAttempt resolve',
      'src/facilitator/journal/rebuilt-jobs.ts': 'mending',
    },
  ),
  money(['test/unit/merchant/refunds.test.ts'], {
    'packages/merchant/src/refunds.ts': 'proofOf remember resolvePlanned take write',
  }),
  money(client('pay-steps', 'client', 'pay', 'buyer'), {
    'packages/client/src/terms.ts': 'choose',
    'packages/client/src/pay.ts': 'payOnce',
  }),
  other(['test/http/activity.test.ts'], {
    'src/directory/session/sign-in.ts': 'problemOf takeNonce find',
  }),
  other(['test/http/hooks.test.ts'], {
    'src/directory/events/hook-sender.ts': '#challenge #deliverTimed #keepFailure #workFor',
  }),
  other(['test/http/listing-writes.test.ts'], {
    'src/directory/listings/signed-write.ts':
      'checkAudience checkAddressee checkClock checkPayTo checkStanding',
  }),
]
