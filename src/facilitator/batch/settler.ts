import type { Address } from 'viem'
import type { Relayer } from '../../relayer/relayer.js'
import type { Job, SettlementJournal } from '../../store/settlement-journal.js'
import { type BatchRequest, parseBatchRequest, payerOf } from '../../x402/batch-request.js'
import type { BatchPayload } from '../../x402/batch-schemas.js'
import { readNetwork, readPayer } from '../../x402/parse-request.js'
import { type Rejection, reasons } from '../../x402/reasons.js'
import { settleRejection } from '../answers.js'
import { reject } from '../ladder.js'
import { createOutcomeWait } from '../outcome-wait.js'
import type { Settle, SettleResult } from '../settler.js'
import { type BatchJob, batchKinds } from './actions.js'
import { type BatchNetwork, findGround, isRejected } from './ground.js'
import { createJobSender } from './job-sender.js'
import { createOutcomeAnswers } from './outcome-answers.js'
import { createRequestSigner } from './request-signer.js'
import { settleByScheme } from './scheme.js'
import { summaryOf } from './summary.js'
import { judgeWork, type SettledPayload, type Work } from './work.js'

export interface BatchSettlerOptions {
  networks: ReadonlyMap<string, BatchNetwork>
  journal: SettlementJournal
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
  const answers = createOutcomeAnswers(options)

  return async ({ body }) => {
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
    return { ...result, payment: summaryOf(request) }
  }

  async function settle(request: BatchRequest, deadline: number): Promise<SettleResult> {
    const { payload } = request
    if (!isSettled(payload)) return refuse(request, notSettled)
    const ground = findGround(request, networks)
    if (isRejected(ground)) return refuse(request, ground)
    const work = await judgeWork(payload, ground)
    switch (work.state) {
      case 'refused':
        return refuse(request, work.rejection)
      case 'done':
        return answers.done(request, ground, work)
      case 'toDo':
        return carryOut(request, ground, work, deadline)
    }
  }

  async function carryOut(
    request: BatchRequest,
    ground: BatchNetwork,
    work: Extract<Work, { state: 'toDo' }>,
    deadline: number,
  ): Promise<SettleResult> {
    const { job } = work
    const row = await journal.findJob(batchKinds[job.action], request.network, job.key)
    if (row !== undefined && row.state !== 'failed') {
      return answerRow(row, job, request, ground, deadline)
    }
    const refusal = work.refusal ?? (await ground.served.guardGas(work.gasPayer))
    if (refusal !== undefined) return refuse(request, refusal)
    const behind = createRequestSigner({
      rpc: ground.served.rpc,
      relayers: ground.relayers,
      send: (call) => sendJob(job, call, request, ground, { failed: row, deadline }),
    })
    const rejection = await settleByScheme(request, behind)
    const sent = behind.job()
    if (sent !== undefined) return answerRow(sent, job, request, ground, deadline)
    // It may have landed while it was looked at.
    const since = await journal.findJob(batchKinds[job.action], request.network, job.key)
    if (since !== undefined && since.state !== 'failed') {
      return answerRow(since, job, request, ground, deadline)
    }
    return refuse(request, rejection as Rejection)
  }

  /** Another authorization under the same key went first: only its failure would have let this one try. */
  async function answerRow(
    row: Job,
    job: BatchJob,
    request: BatchRequest,
    ground: BatchNetwork,
    deadline: number,
  ): Promise<SettleResult> {
    const seen = await waitForOutcome(row, deadline, false)
    if (seen.digest === job.digest) return answers.of(seen, request, ground)
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

/** Vouchers are the merchant's to keep; a refund is settled once the merchant has added his part. */
function isSettled(payload: BatchPayload): payload is SettledPayload {
  return payload.type !== 'voucher' && (payload.type !== 'refund' || 'refundNonce' in payload)
}
