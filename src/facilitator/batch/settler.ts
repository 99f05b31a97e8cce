import type { Address } from 'viem'
import type { Relayer } from '../../relayer/relayer.js'
import type { Job, SettlementJournal } from '../../store/settlement-journal.js'
import { type BatchRequest, parseBatchRequest, payerOf } from '../../x402/batch-request.js'
import type { BatchPayload } from '../../x402/batch-schemas.js'
import { readNetwork, readPayer } from '../../x402/parse-request.js'
import { type Rejection, reasons } from '../../x402/reasons.js'
import { settleRejection } from '../answers.js'
import type { Deliveries } from '../deliveries.js'
import { reject } from '../ladder.js'
import { createOutcomeWait } from '../outcome-wait.js'
import type { Settle, SettleResult } from '../settler.js'
import { type BatchJob, batchKinds } from './actions.js'
import { type BatchNetwork, findGround, guardAccounts, isRejected } from './ground.js'
import { createJobSender, type SendTerms } from './job-sender.js'
import { createLandedFinder } from './landed.js'
import { createOutcomeAnswers } from './outcome-answers.js'
import { isSameRequest } from './proof.js'
import { createRequestSigner } from './request-signer.js'
import { settleByScheme } from './scheme.js'
import { withCanonicalSignatures } from './signatures.js'
import { summaryOf } from './summary.js'
import { judgeWork, judgeWorth, type SettledPayload, type Work } from './work.js'

export interface BatchSettlerOptions {
  networks: ReadonlyMap<string, BatchNetwork>
  journal: SettlementJournal
  deliveries: Deliveries
  relayers: ReadonlyMap<string, Relayer>
  settleWaitSeconds: number
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
  log: { warn(details: object, message: string): void }
}

/**
 * Answers `POST /settle` for deposit, claim, settle and refund. One thing to do is one row of the journal; who asks
 * for it again, at once or later, gets its outcome. A success may be told more than once: what a channel pays for is
 * counted by the merchant, in totals.
 * Rejects with `RpcUnavailableError` when the chain could not be read and nothing was sent.
 */
export function createBatchSettler(options: BatchSettlerOptions): Settle {
  const { networks, journal, checksum, now } = options
  const waitForOutcome = createOutcomeWait(options)
  const sendJob = createJobSender({ ...options, waitForOutcome })
  const findLanded = createLandedFinder(options)
  const answers = createOutcomeAnswers(options)

  return async (asked) => {
    const { body } = asked
    const parsed = parseBatchRequest(body)
    if (!parsed.ok) {
      const payer = readPayer(body)
      const told = { network: readNetwork(body), payer: payer && checksum(payer) }
      return settleRejection(parsed.rejection, told)
    }
    const { request } = parsed
    const { maxTimeoutSeconds } = request.requirements
    // The channel manager says 0, which is no wish for haste.
    const waitSeconds = Math.min(
      options.settleWaitSeconds,
      maxTimeoutSeconds || options.settleWaitSeconds,
    )
    const result = await settle(request, now() + waitSeconds * 1000)
    return { ...(await answers.noteTelling(result, asked)), payment: summaryOf(request) }
  }

  async function settle(asked: BatchRequest, deadline: number): Promise<SettleResult> {
    if (!isSettled(asked.payload)) return refuse(asked, notSettled)
    const ground = findGround(asked, networks)
    if (isRejected(ground)) return refuse(asked, ground)
    const payload = await withCanonicalSignatures(asked.payload, ground.served.rpc)
    const request = { ...asked, payload }
    const work = await judgeWork(payload, ground)
    if (work.state === 'refused') return refuse(request, work.rejection)
    const { job } = work
    const row = await findRow(job, request)
    if (row !== undefined && isActive(row)) {
      if (await isSameRequest(row, job)) {
        return answers.of(await waitForOutcome(row, deadline, false), request, ground)
      }
      if (row.digest !== job.digest) return settleAfter(row, job, request, deadline)
    }
    const { gasPayer, runners, amount } = work
    const refusal = work.refusal ?? (await guardAccounts(ground, gasPayer, runners, amount))
    if (refusal !== undefined) return refuse(request, refusal)
    return carryOut(request, ground, work, { failed: row, deadline })
  }

  /** Lets the scheme judge and send. What it refuses may have landed all the same. */
  async function carryOut(
    request: BatchRequest,
    ground: BatchNetwork,
    work: Extract<Work, { state: 'toDo' }>,
    terms: SendTerms,
  ): Promise<SettleResult> {
    const { job, isDone = false } = work
    let hasPassed = false
    let worthless: Rejection | undefined
    const behind = createRequestSigner({
      rpc: ground.served.rpc,
      relayers: ground.relayers,
      authorization:
        job.action === 'deposit' ? { digest: job.digest, asset: job.details.asset } : undefined,
      async send(call) {
        hasPassed = true
        if (isDone) throw new Error('a transaction would change nothing')
        worthless = await judgeWorth(work, call, ground)
        if (worthless !== undefined) throw new Error(worthless.message)
        return sendJob(job, call, request, ground, terms)
      },
    })
    const rejection = await settleByScheme(request, behind)
    const sent = behind.job()
    if (sent !== undefined) {
      if (sent.digest === job.digest) return answers.of(sent, request, ground)
      return settleAfter(sent, job, request, terms.deadline)
    }
    const since = await findRow(job, request)
    const isKnown = since !== undefined && isActive(since) && (await isSameRequest(since, job))
    const landed = isKnown ? since : await findLanded(job, request, ground, rejection)
    if (landed !== undefined) {
      return answers.of(await waitForOutcome(landed, terms.deadline, false), request, ground)
    }
    // Somebody may have asked for the payout while it was judged.
    const isPaidOut = isDone || rejection?.reason === 'batchNothingToSettle'
    if (job.action === 'settle' && isPaidOut) return answers.paidOut(job, request, ground)
    if (job.action === 'claim' && isDone && hasPassed) return answers.claimed(job, request, ground)
    return refuse(request, worthless ?? (rejection as Rejection))
  }

  async function findRow(job: BatchJob, request: BatchRequest): Promise<Job | undefined> {
    return journal.findJob(batchKinds[job.action], request.network, job.key)
  }

  /** Another authorization under the same key goes first: only its failure lets this one try. */
  async function settleAfter(
    first: Job,
    job: BatchJob,
    request: BatchRequest,
    deadline: number,
  ): Promise<SettleResult> {
    const seen = await waitForOutcome(first, deadline, false)
    if (seen.state === 'failed') return settle(request, deadline)
    const message = `Another ${job.action} with the same nonce went first.`
    return refuse(request, reject(answers.clash(job.action), message), seen.transaction)
  }

  function refuse(request: BatchRequest, rejection: Rejection, transaction?: Job['transaction']) {
    const payer = payerOf(request.payload)
    const told = { network: request.network, payer: payer && checksum(payer), transaction }
    return settleRejection(rejection, told)
  }
}

const notSettled = reject('batchPayloadType', reasons.batchPayloadType.meaning)

function isActive(row: Job): boolean {
  return row.state !== 'failed'
}

/** Vouchers are the merchant's to keep; a refund is settled once the merchant has added his part. */
function isSettled(payload: BatchPayload): payload is SettledPayload {
  return payload.type !== 'voucher' && (payload.type !== 'refund' || 'refundNonce' in payload)
}
