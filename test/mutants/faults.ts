/** A small fault in the sources that the tests of its room must notice. */
export interface Fault {
  /** What the sources promise and the fault breaks. */
  promise: string
  /** The text to replace, found exactly once in all sources; lines may be broken anywhere. */
  find: string
  replace: string
  /** The test files of the room. */
  tests: readonly string[]
  isMoney: boolean
  /** Known to stay unnoticed by the fast suite; a comment beside it says which suite does notice. */
  isUnnoticed?: true
}

type Change = readonly [promise: string, find: string, replace: string]

function faultsOf(isMoney: boolean, tests: readonly string[], changes: readonly Change[]): Fault[] {
  return changes.map(([promise, find, replace]) => ({ promise, find, replace, tests, isMoney }))
}

const attribution = faultsOf(
  true,
  ['test/unit/chain/authorization-uses.test.ts'],
  [
    [
      'AuthorizationUsed counts only from the asset itself',
      'log.address === asset && log.topics[0] === topics.authorizationUsed',
      'log.topics[0] === topics.authorizationUsed',
    ],
    [
      'Transfer counts only from the asset itself',
      'logs.filter((log) => log.address === asset)',
      'logs.filter(() => true)',
    ],
    [
      'the nonce of a use is compared',
      'log.topics[2]?.toLowerCase() === nonce',
      'log.topics[2] !== undefined && nonce !== undefined',
    ],
    [
      'the payer of a use is compared',
      "addressOf(log.topics[1] ?? '') === payer &&",
      "addressOf(log.topics[1] ?? '') !== undefined && payer !== undefined &&",
    ],
    [
      'the payer of a transfer is compared',
      "addressOf(from ?? '') === payer &&",
      'payer !== undefined &&',
    ],
    [
      'the recipient of a transfer is compared',
      "addressOf(to ?? '') === payTo &&",
      'payTo !== undefined &&',
    ],
    [
      'the value of a transfer is compared',
      "addressOf(to ?? '') === payTo && data === `0x",
      "addressOf(to ?? '') === payTo && data !== `1x",
    ],
    [
      'the log after the use must be a transfer',
      'topic === topics.transfer &&',
      'topic !== undefined &&',
    ],
    [
      'logs are read in the order of their indexes',
      'log.address === asset).sort((a, b) => a.index - b.index)',
      'log.address === asset)',
    ],
    ['only the next log of the asset counts', 'ofAsset[use + 1]', 'ofAsset.at(-1)'],
    [
      'a cancelled authorization is told from a used one',
      'log.topics[0] === topics.authorizationCanceled',
      'log.topics[0] === topics.transfer',
    ],
    [
      'a use that no node shows is searched for a minute',
      'now() - search.inVainSince >= PATIENCE_MS',
      'now() - search.inVainSince >= 0',
    ],
    [
      'a receipt without the log of the use is not believed',
      'isOfUse: (it) => isUse(it, expected)',
      'isOfUse: () => true',
    ],
  ],
)

const receipts = faultsOf(
  true,
  ['test/unit/chain/receipts.test.ts'],
  [
    ['a failed transaction is no success', "receipt.status === '0x1'", "receipt.status !== ''"],
    [
      'a log without its index is refused',
      "typeof log.logIndex !== 'string' || !Number.isSafeInteger(index)",
      "typeof log.logIndex === 'boolean'",
    ],
  ],
)

const outcomes = faultsOf(
  true,
  ['test/unit/relayer/outcomes.test.ts'],
  [
    ['a failed receipt settles nobody', 'position >= 0 && receipt.isSuccess ?', 'position >= 0 ?'],
    [
      'a receipt settles members only',
      'position >= 0 && receipt.isSuccess ?',
      'receipt.isSuccess ?',
    ],
    [
      'members pay for a transaction to the last unit',
      'BigInt(position) < cost % count ? 1n : 0n',
      'BigInt(position) < 0n ? 1n : 0n',
    ],
    [
      'a settlement costs also what earlier transactions burnt',
      'confirmation(receipt, settled, cost + entry.burntGas, attestation)',
      'confirmation(receipt, settled, cost, attestation)',
    ],
  ],
)

const attestations = faultsOf(
  false,
  ['test/unit/facilitator/attestor.test.ts', 'test/property/attestation-digest.test.ts'],
  [
    [
      'a payment of a restored database is not attested again',
      'if (job.deliveredKey === RESTORED_KEY) return undefined',
      'if (job.deliveredKey === undefined) return undefined',
    ],
    [
      'an attestation names the time of the block',
      'String(receipt.minedAt ?? Math.floor(now() / 1000))',
      'String(Math.floor(now() / 1000))',
    ],
    [
      'an attestation says who was credited',
      'hashText(payload.payee),',
      'hashText(payload.payer),',
    ],
  ],
)

const identifiers = faultsOf(
  true,
  ['test/chain/payment-identifier.test.ts'],
  [
    [
      'ids of the extension are each payer’s own',
      'id && identifierKey(payment.network, payment.authorization.from, id)',
      'id && identifierKey(payment.network, payment.asset, id)',
    ],
    [
      'an id that is bound to another payment is a conflict',
      "return (await isBound(identifierKey)) ? undefined : 'identifierConflict'",
      'return (await isBound(identifierKey)) ? undefined : undefined',
    ],
  ],
)

const lane = faultsOf(
  true,
  ['test/unit/relayer/lane.test.ts', 'test/unit/relayer/lane-promises.test.ts'],
  [
    [
      'a signed transaction is kept before it is sent',
      'await journal.recordAttempt(attempt, epoch,',
      'void journal.recordAttempt(attempt, epoch,',
    ],
    [
      'what was kept under a lost lease is not handed on',
      'if (lane.epoch !== epoch) throw new LeaseLostError',
      'if (lane.epoch === -1) throw new LeaseLostError',
    ],
    [
      'gas is risked on no job that is decided',
      'if (members.length < jobIds.length) throw',
      'if (members.length < 0) throw',
    ],
    ['nothing is sent under a lost lease', 'if (!mayWork(lane, slot.epoch)) return', ''],
    [
      'nothing is signed under a lost lease',
      'if (lane.epoch === undefined || !mayWork(lane)) {',
      'if (lane.epoch === undefined) {',
    ],
    [
      'a lapsed lease stops a lane',
      'lane.epoch === epoch && held === epoch',
      'lane.epoch === epoch',
    ],
    [
      'what an earlier attempt carried is known after a restart',
      'new Set(attempts.flatMap((attempt) => attempt.jobIds))',
      'new Set(newest.jobIds)',
    ],
    [
      'the nonce of the journal holds where the chain is behind',
      'Math.max(kept ?? 0, chainNonce, ...after)',
      'Math.max(chainNonce, ...after)',
    ],
    [
      'the nonce of the chain is the floor of the journal’s',
      'Math.max(kept ?? 0, chainNonce, ...after)',
      'Math.max(kept ?? 0, ...after)',
    ],
    [
      'the nonce is lowered only when nothing of ours is under way',
      'kept === undefined || after.length > 0 || chainNonce >= kept',
      'kept === undefined || chainNonce >= kept',
    ],
    [
      'the nonce rises with each transaction',
      'lane.nextNonce = Math.max(lane.nextNonce, nonce + 1)',
      'lane.nextNonce = Math.max(lane.nextNonce, nonce)',
    ],
    [
      'a node must answer the hash of what it was sent',
      'if (String(answer).toLowerCase() !== hash) throw',
      "if (String(answer) === '') throw",
    ],
    [
      'a replaced transaction may still land',
      'slot.attempts.push(attempt)',
      'slot.attempts = [attempt]',
    ],
    [
      'a replacement carries nothing that was decided',
      'jobs.findAll(slot.jobIds).filter(jobs.isOpen)',
      '[...slot.jobIds]',
    ],
    [
      'a wallet that cannot pay for a transaction sends none',
      'balance !== undefined && balance < call.gasLimit * fees.maxFeePerGas',
      'balance !== undefined && balance < call.gasLimit',
    ],
    [
      'a lane that is taken up sends what was kept',
      'for (const slot of slots.open()) void send(lane, slot)',
      '',
    ],
    [
      'a lane that is taken up finds what has landed',
      'for (const receipt of receipts) land(lane, receipt)',
      '',
    ],
  ],
)

const fees = faultsOf(
  true,
  ['test/unit/relayer/gas.test.ts'],
  [
    [
      'a replacement raises both fields enough',
      'const BUMP_PERCENT = 125n',
      'const BUMP_PERCENT = 105n',
    ],
    ['no fee is offered above the cap', 'wanted < capPerGas ? wanted : capPerGas', 'wanted'],
    ['no replacement goes above the cap', 'if (maxFeePerGas > capPerGas) return undefined', ''],
  ],
)

const walletGate = faultsOf(
  true,
  ['test/unit/relayer/gas-budgets.test.ts'],
  [
    [
      'eight transactions of one wallet are under way at most',
      'load.coded < MAX_UNDER_WAY',
      'load.coded < 1_000',
    ],
    [
      'a wallet’s own budget bears all that it may burn',
      'add(name, worst, limits.perAccount, true)',
      'add(name, worst, limits.perAccount, false)',
    ],
    [
      'the sum of all wallets has room for what one may burn',
      'add(WASTED.coded, worst, limits.wasted, true)',
      'add(WASTED.coded, 0n, limits.wasted, true)',
    ],
    [
      'a plain account has as much under way as its budget has room for',
      'if (atRisk > 0 && atRisk >= roomOf(entry.payer)) return false',
      '',
    ],
    [
      'what a transaction itself takes is reserved with its payments',
      'Math.ceil(riskOf(entry) + base)',
      'Math.ceil(riskOf(entry))',
    ],
    [
      'a replacement is not stopped by a budget that is not strict',
      'last: isReplacement ? amount : last',
      'last',
    ],
    ['new payers take turns', 'newcomers < Math.max(1, newcomersSettled)', 'newcomers < 1_000'],
    ['a failure ends the standing of a payer', 'standings.delete(payer)', ''],
    [
      'new payers share no transaction while they take turns',
      'if (taken.length > 0 && ![entry, ...taken].every(isTrusted)) return false',
      '',
    ],
    [
      'a wallet answers on when its code is gone for a moment',
      'coded.has(runner) || entry.coded.includes(runner)',
      'coded.has(runner)',
    ],
    ['a paused budget holds back its account', 'if (isPaused(entry)) return false', ''],
    [
      'payments below their gas have a limit of their own',
      'if (given > 0n && limits.subsidised !== undefined) {',
      'if (given < 0n && limits.subsidised !== undefined) {',
    ],
    [
      'the ceiling of a wallet’s transaction is near the base fee',
      'entries.some(hasCode) ? RISKY_HEADROOM : HEADROOM',
      'entries.some(hasCode) ? HEADROOM : HEADROOM',
    ],
  ],
)

const leases = faultsOf(
  true,
  ['test/unit/relayer/lease-keeper.test.ts'],
  [
    [
      'a lease that is not renewed ends here before it ends in the store',
      'askedAt + store.durationMs - SAFETY_MS',
      'askedAt + store.durationMs + 60_000',
    ],
    [
      'a lease counts from when the store was asked',
      'const askedAt = performance.now() const answer = await store.beat()',
      'const answer = await store.beat(); const askedAt = performance.now()',
    ],
    [
      'a lapsed lease is not held',
      'isRenewed() ? epochs.get(name) : undefined',
      'epochs.get(name)',
    ],
    ['leases are shared evenly', 'if (ownOf(group).length >= share(group)) break', ''],
  ],
)

const examiner = faultsOf(
  true,
  ['test/unit/relayer/examiner.test.ts'],
  [
    [
      'nothing fails while something signed for it may land',
      'if (await persistently(() => journal.mayLand(network, entry.job.id))) return false',
      '',
    ],
    [
      'a wallet that lies is believed once more',
      'const MAX_WALLET_RESENDS = 1',
      'const MAX_WALLET_RESENDS = 100',
    ],
    [
      'a payment is sent again a few times only',
      'const MAX_RESENDS = 3',
      'const MAX_RESENDS = 1_000',
    ],
    [
      'while a transaction is under way nothing but a proof decides',
      'if (!mayDecide(entry)) return',
      '',
    ],
    [
      'what a lane has in hand is not sent by another',
      'return entry.liveSlots === 0 && !queue.has(entry)',
      'return entry.liveSlots === 0',
    ],
  ],
)

const preparation = faultsOf(
  true,
  ['test/unit/relayer/preparation.test.ts'],
  [
    [
      'an account with code shares no transaction',
      'if (entry.isAlone || entry.coded.length === 0) return true',
      'if (entry.isAlone || entry.coded.length >= 0) return true',
    ],
    [
      'what was signed and expired is judged by the clock of the chain',
      'if (entry.job.expiresAt <= chainSeconds) void examiner.examine(entry, {})',
      'if (entry.job.expiresAt <= seconds) void examiner.examine(entry, {})',
    ],
    [
      'what moves less than its gas is not sent where it must bear it',
      'if (toNative(gain) >= gasCost) return undefined',
      'if (toNative(gain) >= 0n) return undefined',
    ],
    [
      'a plain payment takes no more gas than its cap',
      'return { members: [only], gasLimit: limit < cap ? limit : cap }',
      'return { members: [only], gasLimit: limit }',
    ],
  ],
)

const losses = faultsOf(
  true,
  ['test/unit/relayer/spending.test.ts'],
  [
    [
      'a transaction that died is charged to accounts with code',
      'if (coded.length > 0) return { burnt: toBurnt(coded) }',
      '',
    ],
    [
      'code at the start of a block counts as well',
      'now.has(account) || before?.has(account)',
      'now.has(account)',
    ],
    [
      'a plain payer answers for a transaction of their own',
      'return { burnt: toBurnt([only.payer]) }',
      'return { burnt: [] }',
    ],
    [
      'a payer answers for a payment that others brought on chain first',
      'if (jobIds.every((id) => known.includes(id))) return failed',
      'return failed',
    ],
    [
      'code takes more than its share',
      'wasted = costOf(receipt) - usualCost(options, receipt, result)',
      '',
    ],
    ['what settled nobody is wasted', 'wasted += share', 'wasted += 0n'],
  ],
)

const ladder = faultsOf(
  true,
  ['test/unit/facilitator/checks.test.ts', 'test/unit/facilitator/payment-check.test.ts'],
  [
    [
      'the recipient must be the one of the requirement',
      'if (authorization.to === payTo) return undefined',
      'return undefined',
    ],
    [
      'the value must be the amount that is asked',
      'if (authorization.value === required) return undefined',
      'if (authorization.value >= required) return undefined',
    ],
    [
      'the asset must be the one that is settled',
      'const token = tokens.get(asset)\n  if',
      'const token = tokens.get(asset) ?? [...tokens.values()][0]\n  if',
    ],
    [
      'an authorization must last long enough',
      'const needed = BigInt(clock.nowSeconds + clock.marginSeconds)',
      'const needed = BigInt(clock.nowSeconds)',
    ],
    [
      'an authorization must be valid already',
      'validAfter <= BigInt(clock.nowSeconds)',
      'validAfter >= 0n',
    ],
    [
      'a used nonce is refused',
      'if (facts.isNonceUsed) { return reject(',
      'if (facts.isNonceUsed && facts.isPaused) { return reject(',
    ],
    [
      'a payer must hold what they pay',
      'if (facts.balance < value) {',
      'if (facts.balance < value - 1n) {',
    ],
    [
      'nobody pays themselves',
      'if (payTo === payment.authorization.from) {',
      'if (payTo === payment.asset) {',
    ],
    [
      'the operator’s block of a recipient is obeyed',
      'if (!terms.isPayToBlocked(payTo)) return undefined',
      'return undefined',
    ],
    [
      'the operator’s block of a payer is obeyed',
      'if (!terms.isPayerBlocked(payer)) return undefined',
      'return undefined',
    ],
    [
      'a relayer is no payer',
      'if (terms.isRelayer(payer)) {',
      'if (terms.isRelayer(payment.payTo)) {',
    ],
    [
      'the contracts of x402 are no recipients',
      'if (isChannelContract(payTo)) {',
      'if (payTo === zeroAddress) {',
    ],
  ],
)

const judge = faultsOf(
  true,
  ['test/unit/facilitator/payment-check.test.ts'],
  [
    [
      'a signature must be the payer’s',
      'if (recoverable !== undefined && isPayers(digest, recoverable, digestBytes, from)) {',
      'if (recoverable !== undefined) {',
    ],
    [
      'a known payment is told to its own signature only',
      'if (isSame && isSignatureOf(active, payment.signature)) {',
      'if (isSame) {',
    ],
    [
      'the clock of the chain counts beside ours',
      'Math.max(Math.floor(now() / 1000), network.chainSeconds() ?? 0)',
      'Math.floor(now() / 1000)',
    ],
    [
      'a token that has changed is not settled',
      'if (mismatch !== undefined) throw mismatch const nowSeconds',
      'const nowSeconds',
    ],
    [
      'the budget of gas is asked before a payment is valid',
      'if (gasRefusal !== undefined) return rejected(gasRefusal)',
      '',
    ],
    [
      'a use before the claim does not pay',
      "use.state === 'paid' && (await isSinceClaim(use, claimed, isOurs))",
      "use.state === 'paid'",
    ],
    [
      'the claim of another authorization does not pay',
      'failedJob?.digest === digest ? failedJob : undefined',
      'failedJob',
    ],
    [
      'a use that no node shows leaves a claim open',
      "use.state === 'unread' || (use.state === 'notFound' && !use.isFinal)",
      "use.state === 'notFound' && !use.isFinal",
    ],
    [
      'a claim counts from the newest block that was seen',
      'Math.max(facts.blockNumber, network.headBlock())',
      'facts.blockNumber',
    ],
  ],
)

const exactKind = faultsOf(
  true,
  ['test/unit/facilitator/exact-kind.test.ts'],
  [
    [
      'a node behind what was seen is not believed',
      "if (facts.blockNumber < atLeastBlock) { throw new RpcUnavailableError('the chain node is behind the block that was already seen') } if (facts.isNonceUsed) { return decide(",
      'if (facts.isNonceUsed) { return decide(',
    ],
    [
      'a transfer before the claim confirms nothing',
      'if (receipt.blockNumber <= job.seenBlock) return false',
      '',
    ],
    [
      'a transfer of a second before the claim confirms nothing',
      'if (minedAt >= Math.floor(readExactDetails(job).claimedAt / 1000)) return true',
      'if (minedAt > 0) return true',
    ],
    [
      'a transfer of our own confirms whatever its second',
      'return isOurs(job, receipt.transactionHash)',
      'return false',
    ],
    [
      'an authorization is over by the clock of the chain',
      'if (facts.blockTimestamp >= job.expiresAt) { return failed(',
      'if (facts.blockTimestamp + 6 >= job.expiresAt) { return failed(',
    ],
    ['a use is searched from before the claim', 'Math.max(0, seenBlock - 2)', 'seenBlock'],
    [
      'a use that was not found is no failure yet',
      "if (use.isFinal) return failed(reject('nonceAlreadyUsed', USED_AND_NOT_FOUND))",
      "return failed(reject('nonceAlreadyUsed', USED_AND_NOT_FOUND))",
    ],
  ],
)

const settler = faultsOf(
  true,
  ['test/unit/facilitator/settler.test.ts'],
  [
    [
      'a settle waits no longer than the merchant does',
      'Math.min(options.settleWaitSeconds, payment.maxTimeoutSeconds)',
      'options.settleWaitSeconds',
    ],
    [
      'a settle waits no longer than the service does',
      'Math.min(options.settleWaitSeconds, payment.maxTimeoutSeconds)',
      'payment.maxTimeoutSeconds',
    ],
    [
      'a request takes back only what it brought about',
      'if (!mayWithdraw && !isAbandoned) return refresh(job)',
      'if (deadline <= 0) return refresh(job)',
    ],
    [
      'success is given again to the same Idempotency-Key only',
      'key !== null && turn.key === key',
      'key !== null',
    ],
    [
      'success is given once',
      "if (turn?.state === 'granted') {",
      "if (turn?.state === 'granted' || turn?.state === 'delivered') {",
    ],
    [
      'an Idempotency-Key of another payment is a conflict',
      "if (obtained === 'keyConflict') return refuse(payment, keyConflict, known)",
      "if (obtained === 'keyConflict') return refuse(payment, busy)",
    ],
    [
      'an Idempotency-Key has sixteen characters at least',
      '{16,128}$/.test(key)',
      '{1,128}$/.test(key)',
    ],
  ],
)

const gasGuard = faultsOf(
  true,
  ['test/unit/facilitator/gas-guard.test.ts'],
  [
    [
      'the ceiling of a day holds',
      'if (spent < dailyGasLimit) return undefined',
      'if (spent <= dailyGasLimit) return undefined',
    ],
    [
      'what bought nothing is not taken from the ceiling',
      'spentToday - ofCoded - ofPlain',
      'spentToday - ofCoded',
    ],
    [
      'a wallet is refused past the limit of all wallets',
      'bearers.push({ name: WASTED.coded, limit: limits.wasted, isStrict, burnt: ofCoded })',
      '',
    ],
    [
      'half of the ceiling is kept for payments that bear their gas',
      'const SUBSIDISED_SHARE = 2n',
      'const SUBSIDISED_SHARE = 1n',
    ],
    [
      'nothing is settled above the cap of the gas price',
      'if (fees === undefined) { const [fee, cap]',
      'if (fees === undefined && maxFeePerGas < 0n) { const [fee, cap]',
    ],
  ],
)

const operatorBlocks = faultsOf(
  true,
  ['test/unit/facilitator/operator-blocks.test.ts'],
  [
    [
      'a block holds in the role that it names',
      'blocked.size > 0 && blocked.has(',
      "blocked.has('payTo/' + address) || blocked.has('payer/' + address) || blocked.has(",
    ],
    [
      'a new block is obeyed within seconds',
      'setInterval(() => refresh().catch(onError), REFRESH_MS)',
      'setInterval(() => {}, REFRESH_MS)',
    ],
  ],
)

const store = faultsOf(
  true,
  ['test/unit/store/durable-writes.test.ts', 'test/unit/store/sqlite.test.ts'],
  [
    [
      'a rebuilt payment counts as answered',
      'delivered_at: now, delivered_key: RESTORED_KEY,',
      'delivered_at: null, delivered_key: RESTORED_KEY,',
    ],
    [
      'a mended payment counts as answered',
      'delivered_at = COALESCE(delivered_at, $11)',
      'delivered_at = COALESCE(delivered_at, $11 * NULL)',
    ],
    [
      'a row is mended as it was read',
      "round = $13 AND state = 'failed' AND NOT EXISTS",
      "$13 >= 0 AND state = 'failed' AND NOT EXISTS",
    ],
    ['a transfer of another row mends none', 'other.transfer_log = $8', 'other.transfer_log = -$8'],
    [
      'a signed attempt waits for the disk',
      'recordAttempt: (attempt, _epoch, bearers = []) => commit.write(',
      'recordAttempt: (attempt, _epoch, bearers = []) => commit.writeUnsynced(',
    ],
    [
      'a failure waits for the disk',
      'isOnChain(resolution) ? commit.writeUnsynced(write) : commit.write(write)',
      'commit.writeUnsynced(write)',
    ],
    [
      'the right to answer waits for the disk',
      'leaseDelivery: (jobId, token, leaseMs) => commit.write(',
      'leaseDelivery: (jobId, token, leaseMs) => commit.writeUnsynced(',
    ],
    [
      'an answered success waits for the disk',
      'completeDelivery: (jobId, token, key, now) => commit.write(',
      'completeDelivery: (jobId, token, key, now) => commit.writeUnsynced(',
    ],
    [
      'a commit waits for the disk before it is answered',
      'await disk.sync() for (const { answer } of covered) answer()',
      'for (const { answer } of covered) answer()',
    ],
    [
      'a delivered success is leased to nobody',
      "WHERE id = ? AND state = 'confirmed' AND delivered_at IS NULL AND (delivery_until IS NULL OR delivery_until <= ? OR delivery_token = ?)",
      "WHERE id = ? AND state = 'confirmed' AND (delivery_until IS NULL OR delivery_until <= ? OR delivery_token = ?)",
    ],
    [
      'a lease of an answer is respected',
      'AND (delivery_until IS NULL OR delivery_until <= ? OR delivery_token = ?)`',
      'AND (? > 0 OR delivery_token = ?)`',
    ],
    [
      'a late outcome of an earlier round misses',
      "gas_cost = ?, transfer_log = ?, attestation = ?, updated_at = ? WHERE id = ? AND round = ? AND state IN ('queued', 'submitted')",
      "gas_cost = ?, transfer_log = ?, attestation = ?, updated_at = ? WHERE id = ? AND round <> ? + 99 AND state IN ('queued', 'submitted')",
    ],
    [
      'one of many claims is granted',
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, network, key) DO NOTHING`',
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`',
    ],
    [
      'a budget bears no more than its limit',
      'isStrict ? burnt + amount > limit : burnt >= limit',
      'isStrict ? burnt > limit : burnt >= limit',
    ],
    [
      'a budget counts what is under way',
      'const needed = burnt + reserved + amount',
      'const needed = burnt + amount',
    ],
  ],
)

const deliveries = faultsOf(
  true,
  ['test/unit/facilitator/deliveries.test.ts'],
  [
    [
      'a grant that is out is not given twice',
      'if (delivering.has(jobId)) {',
      'if (delivering.has(jobId) && isShared) {',
    ],
    [
      'an old grant is confirmed before it is used',
      '!isShared || performance.now() - heldSince < FRESH_MS',
      'true',
    ],
    [
      'a success that was answered is marked, however long it takes',
      'await persistently(jobId, () => store.completeDelivery(jobId, token, key, now()))',
      'await store.completeDelivery(jobId, token, key, now()).catch(() => {})',
    ],
  ],
)

const merchant = faultsOf(
  true,
  ['test/merchant/refunds.test.ts'],
  [
    [
      'a refund is on disk before the payment is settled',
      'await file.datasync() remember(refund)',
      'remember(refund)',
    ],
    [
      'a landed refund is not brought again',
      "refund.state === 'landed' || refund.state === 'dropped'",
      "refund.state === 'dropped'",
    ],
    [
      'one payment is given back of once',
      'if (before !== undefined && before.id !== refund.id) return before',
      '',
    ],
    [
      'the nonce of a refund follows from the payment',
      "['x402 refund', network, asset, payer, paymentNonce]",
      "['x402 refund', network, asset, payer, String(Math.random())]",
    ],
    [
      'a refund that is called used needs proof',
      "found.state === 'confirmed' && found.amount === amount",
      "found.state === 'confirmed'",
    ],
    [
      'the proof of a refund names its buyer',
      'isSameAddress(found.payTo, to) && isSameAddress(found.asset, asset)',
      'isSameAddress(found.asset, asset)',
    ],
    [
      'a payment that was not settled is not given back',
      'if (isSettled === true) return void (await makeDue(refund))',
      'return void (await makeDue(refund))',
    ],
    [
      'a torn last line spoils no other',
      "if (text !== '' && !text.endsWith('\\n')) await file.appendFile('\\n')",
      '',
    ],
  ],
)

const signIn = faultsOf(
  false,
  ['test/unit/directory/session/sign-in.test.ts'],
  [
    [
      'a sign-in is for this domain',
      'if (fields.domain !== domain) return',
      'if (fields.domain === undefined) return',
    ],
    [
      'a sign-in is for this address of the directory',
      'if (fields.uri !== uri) return',
      'if (fields.uri === undefined) return',
    ],
    [
      'a sign-in is for this chain',
      'fields.chainId === undefined || !chainIds.includes(fields.chainId)',
      'fields.chainId === undefined',
    ],
    [
      'a nonce is good once and was issued here',
      'nonce === undefined || !(await options.sessions.takeNonce(nonce))',
      'nonce === undefined',
    ],
    [
      'a nonce has five minutes',
      'expiresAt !== undefined && expiresAt > now()',
      'expiresAt !== undefined',
    ],
    [
      'a session ends after an hour',
      'session !== undefined && session.expiresAt > now() ? session : undefined',
      'session',
    ],
    [
      'a sign-in is signed by the address that it names',
      "if (!isSigned) return refused('the signature",
      "if (!isSigned && nonce === '') return refused('the signature",
    ],
  ],
)

const ratings = faultsOf(
  false,
  ['test/http/ratings.test.ts'],
  [
    [
      'a rating needs a confirmed payment',
      "if (found.status.state === 'confirmed') return found",
      "if (found.status.state !== 'failed') return found",
    ],
    [
      'a rating is for the endpoint that was paid for',
      'return endpoints.find((endpoint) => endpoint.id === id && isRated(endpoint))',
      'return endpoints.find(isRated)',
    ],
    [
      'a cheap call does not rate a dear endpoint',
      'if (paid.amount < least) return undefined',
      'if (paid.amount < 0n * least) return undefined',
    ],
    [
      'nobody rates what they paid to themself',
      'if (payer === rated.payTo || owners.includes(payer)',
      'if (owners.includes(payer)',
    ],
    [
      'an owner does not rate their own listing',
      'owners.includes(payer) || options.isRelayer(payer)',
      'options.isRelayer(payer)',
    ],
    [
      'a rating is signed by the payer',
      "await options.checkSignature({ signer: payer, member: 'payer', hashOn }, signature)",
      'void hashOn',
    ],
  ],
)

const writes = faultsOf(
  false,
  ['test/http/listing-writes.test.ts'],
  [
    [
      'a write is for this directory',
      'if (message.audience === audience) return',
      'if (message.audience !== undefined) return',
    ],
    [
      'a write is for the merchant of the path',
      'if (merchantId !== addressed) {',
      'if (merchantId === undefined) {',
    ],
    ['a write ends at its deadline', 'if (deadline <= now) {', 'if (deadline <= now - 600) {'],
    [
      'a write is signed by its owner',
      "await checkSignature({ signer: message.owner, member: 'owner', hashOn }, signature)",
      'void hashOn',
    ],
    [
      'the payTo that is signed is the one of the listing',
      'if (payTo === expected) return',
      'if (payTo !== undefined) return',
    ],
    [
      'only the owner changes a listing',
      'throw ownerFault(merchant.owner === null) } if (revision',
      '} if (revision',
    ],
    [
      'an offer is taken by whom it was made to',
      'if (offer?.to !== owner || offer.until <= receivedAt) throw offerFault()',
      'if (offer === null || offer.until <= receivedAt) throw offerFault()',
    ],
  ],
)

const probe = faultsOf(
  false,
  [
    'test/unit/directory/probe/target-rules.test.ts',
    'test/unit/directory/probe/guarded-connect.test.ts',
    'test/unit/directory/probe/guarded-fetch.test.ts',
    'test/unit/directory/probe/call-limits.test.ts',
  ],
  [
    [
      'only https is called',
      "rules.allowPrivateHosts ? ['https:', 'http:'] : ['https:']",
      "['https:', 'http:']",
    ],
    [
      'only port 443 is called',
      "if (!rules.allowPrivateHosts && url.port !== '') return",
      "if (!rules.allowPrivateHosts && url.port === '1') return",
    ],
    [
      'the service never calls itself',
      "if (isOwn(url, rules)) return 'The URL leads back to this service.'",
      '',
    ],
    [
      'a URL carries no credentials',
      "if (url.username !== '' || url.password !== '') {",
      "if (url.username !== '') {",
    ],
    ['link-local addresses are closed', "'169.254.0.0/16',", ''],
    [
      'every address of a host is judged',
      '!addresses.every((address) => isAllowedAddress(address, rules))',
      '!addresses.some((address) => isAllowedAddress(address, rules))',
    ],
    [
      'where a connection came out is judged again',
      '!allowed.has(normalAddress(reached)) || !isAllowedAddress(reached, rules)',
      'allowed.size === 0',
    ],
    [
      'a redirect is not followed, and said',
      'if (redirect !== undefined) { response.body',
      'if (redirect === null) { response.body',
    ],
    [
      'an answer is read up to a limit',
      'if (bodyBytes > limit) {',
      'if (bodyBytes > limit * 1_000) {',
    ],
    [
      'a host is called a few times only',
      'const hostWait = hosts.take(host)',
      'const hostWait = 0',
    ],
  ],
)

const signers = faultsOf(
  true,
  ['test/unit/relayer/signer.test.ts'],
  [
    ['a signature is of the wallet', 'keccak256) === address', 'keccak256) !== undefined'],
    ['a high s becomes low', 'const compact = lowS(signature)', 'const compact = signature'],
    [
      'a signer that hangs is not awaited',
      'Promise.resolve(sign(digest, transaction)), SIGN_TIMEOUT_MS',
      'Promise.resolve(sign(digest, transaction)), 600_000',
    ],
  ],
)

const watchedSigners = faultsOf(
  true,
  ['test/unit/relayer/watched-signer.test.ts'],
  [
    [
      'a signer that signs trials only is asked ever more rarely',
      'const raw = await ask(trial).catch(() => undefined)',
      'const raw = await ask(trial).catch(() => undefined)\n    failures = 0',
    ],
    [
      'an error of our own is no failure of the signer',
      'if (!(error instanceof SignerError)) throw error',
      '',
    ],
    [
      'a signer that signs again counts as signing',
      'failure === undefined) return',
      'true) return',
    ],
  ],
)

const shrinking = faultsOf(
  true,
  ['test/unit/store/sqlite.test.ts'],
  [
    [
      'an open payment keeps its calldata',
      "isOver: `state IN ('confirmed', 'failed') AND",
      'isOver: `round >= 0 AND',
    ],
    [
      'a payment that may land keeps its calldata',
      'WHERE a.is_open = 1)`,',
      'WHERE a.is_open = 2)`,',
    ],
    [
      'a payment that was decided lately keeps its calldata',
      'AND updated_at < $2 AND id NOT IN',
      'AND $2 > 0 AND id NOT IN',
    ],
    [
      'a transaction that may land keeps its bytes',
      "isOver: 'is_open = 0 AND created_at < $2'",
      "isOver: 'created_at < $2'",
    ],
  ],
)

const permit2Logs = faultsOf(
  true,
  ['test/unit/chain/permit2.test.ts', 'test/unit/chain/permit2-uses.test.ts'],
  [
    [
      'only the expected transfer before the event of the proxy counts',
      'const isOwn = before !== undefined && isExpectedTransfer(before, expected)',
      'const isOwn = before !== undefined',
    ],
    [
      'the event counts only from the proxy that the payer signed for',
      'address === proxy && (topic === topics.settled',
      'proxy !== undefined && (topic === topics.settled',
    ],
    [
      'one of several settlements is chosen by its call alone',
      'return settlements.length === 1 ? settlements[0] : undefined',
      'return settlements[0]',
    ],
    [
      'the multicall names the call whose transfer it is',
      'settlements.find(({ call }) => call === hash)',
      'settlements.find(({ call }) => call !== undefined)',
    ],
    [
      'only the multicall that the payer signed for names calls',
      'address === facilitator && topic === topics.called\n  const concerned',
      'address !== asset && topic === topics.called\n  const concerned',
    ],
    [
      'the words of a call stand at their place',
      'data.startsWith(settleWords(expected), start)',
      'data.includes(settleWords(expected))',
    ],
    [
      'a cancellation in the newest blocks does not hide an older settlement',
      'if (recent !== undefined && isProof(recent)) return remember(recent)',
      'if (recent !== undefined) return remember(recent)',
    ],
    [
      'what is not proven gives way to a cancellation',
      "if (use === undefined || use.state === 'untraced') return false",
      'if (use === undefined) return false',
    ],
    [
      'a call in a trace counts only if nothing around it failed',
      'if (frame === null || frame.error != null) continue',
      'if (frame === null) continue',
    ],
    [
      'borrowed code is no call of the proxy',
      "if (call?.to === to && frame.type === 'CALL')",
      'if (call?.to === to)',
    ],
    [
      'a trace shows as many settlements as the logs',
      'calls.filter(isSettleCall).length === settlements.length',
      'calls.length >= 0',
    ],
    [
      'hidden logs are no proof of another use',
      'return all !== undefined && (await isAgreed(rpc, expected, block))',
      'return (await isAgreed(rpc, expected, block))',
    ],
    [
      'a cancellation counts only with the bit of the nonce',
      '((mask >> (BigInt(nonce) & 255n)) & 1n) === 1n',
      'mask > 0n',
    ],
  ],
)

const sharedUpto = faultsOf(
  true,
  ['test/unit/relayer/queue.test.ts'],
  [
    [
      'jobs share a transaction only through the same contract',
      '!isAlone(entry) && entry.through === head.through',
      '!isAlone(entry)',
    ],
  ],
)

const permit2Payments = faultsOf(
  true,
  ['test/chain/permit2.test.ts'],
  [
    [
      'the spender is the proxy',
      'if (permit2?.spender === expected) return undefined',
      'if (expected !== undefined) return undefined',
    ],
    [
      'a payment by upto names a wallet of ours',
      'if (named === undefined || terms.isFacilitator(named)) return undefined',
      'if (named === undefined || terms !== undefined) return undefined',
    ],
    [
      'no more is charged than the payer permitted',
      'if (required <= permitted) return undefined',
      'if (required >= 0n) return undefined',
    ],
    [
      'a charge that differs from the claimed one is refused',
      "if (payment.scheme === 'upto' && isSettle && BigInt(value) !== payment.amount) {",
      "if (payment.scheme === 'upto' && isSettle && BigInt(value) < 0n) {",
    ],
    [
      'an allowance must cover what moves',
      'if (allowance >= moved) return undefined',
      'if (allowance >= 0n) return undefined',
    ],
  ],
)

const namedWallets = faultsOf(
  true,
  ['test/unit/relayer/dispatcher.test.ts'],
  [
    [
      'a job that names a wallet goes to its lane only',
      'entry?.senders?.includes(lane.address) ?? true',
      'entry?.senders?.includes(lane.address) || true',
    ],
  ],
)

const hooks = faultsOf(
  false,
  ['test/http/hooks.test.ts'],
  [
    [
      'the time that a webhook tells is the one that is signed',
      "'webhook-timestamp': String(seconds)",
      "'webhook-timestamp': String(seconds + 1)",
    ],
    [
      'an event that was not taken holds up the next one',
      'if (failure !== undefined) return keepFailure(hook, failure)',
      'if (failure !== undefined) await keepFailure(hook, failure)',
    ],
    [
      'the target of a webhook is one of the public internet',
      "if (!target.isAllowed) { throw listingFault([{ path: 'url',",
      "if (target === undefined) { throw listingFault([{ path: 'url',",
    ],
    [
      'a message about a webhook works once',
      'if ((yield* get(used, [owner, nonce])) !== undefined)',
      'if ((yield* get(used, [owner, nonce])) === null)',
    ],
    [
      'a slow receiver gives its place up',
      "if (place?.group === 'quick') place.group = 'slow'",
      "if (place?.group === 'slow') place.group = 'slow'",
    ],
  ],
)

const buyer = faultsOf(
  true,
  ['test/client/client.test.ts', 'test/client/pay.test.ts'],
  [
    [
      'a limit is for one token, that of the listing',
      'isSame(offer.asset, terms.asset) &&',
      'terms.asset !== undefined &&',
    ],
    [
      'a tool that succeeded asks for nothing',
      'hasFailed ? requiredIn(result) : undefined',
      'hasFailed !== undefined ? requiredIn(result) : undefined',
    ],
    [
      'a settlement on another network is not believed',
      'settlement?.network === network && { settlement }',
      'settlement !== undefined && { settlement }',
    ],
  ],
)

export const faults: readonly Fault[] = [
  ...signers,
  ...watchedSigners,
  ...shrinking,
  ...attribution,
  ...permit2Logs,
  ...permit2Payments,
  ...sharedUpto,
  ...namedWallets,
  ...receipts,
  ...outcomes,
  ...attestations,
  ...identifiers,
  ...lane,
  ...fees,
  ...walletGate,
  ...leases,
  ...examiner,
  ...preparation,
  ...losses,
  ...ladder,
  ...judge,
  ...exactKind,
  ...settler,
  ...gasGuard,
  ...operatorBlocks,
  ...store,
  ...deliveries,
  ...merchant,
  ...signIn,
  ...ratings,
  ...writes,
  ...hooks,
  ...buyer,
  ...probe,
]
