import { randomUUID } from 'node:crypto'
import {
  type BatchRequest,
  parseBatchRequest,
  toAnsweredBatchPayment,
} from '@arcus/protocol/x402/batch-request'
import type { BatchPayload } from '@arcus/protocol/x402/batch-schemas'
import { readNetwork, readPayer } from '@arcus/protocol/x402/parse-request'
import { isRejection, type Rejection, reasons, reject } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import type { SignerRecovery } from '../../chain/signer-recovery.js'
import { type SettleResult, settleRejection, withSettlementStatus } from '../answers.js'
import { PAYOUTS } from '../journal/budgets.js'
import type { Job, NewJob, SettlementJournal } from '../journal/settlement-journal.js'
import { findToken } from '../methods/checks.js'
import { digestOfSignature, writeResource } from '../methods/exact-job.js'
import type { Network } from '../methods/network.js'
import type { Brought } from '../relayer/gas-guard.js'
import type { Relayer } from '../relayer/relayer.js'
import type { Deliveries } from '../settle/deliveries.js'
import { createOutcomeWait, type Settle, type SettleRequest } from '../settle/settler.js'
import type { CheckTurns } from './check-turns.js'
import { checkGasBudgets, checkRecipient, checkRequest, screenParties } from './checks.js'
import { type BatchJob, batchKinds } from './jobs.js'
import { createOutcomeAnswers, recordLandedDeposit, simulationReasons } from './outcomes.js'
import { checkWorth, coverDeposit, type Plan, planJob, type SettledPayload } from './plan.js'
import { createRequestSigner, settleByScheme } from './scheme.js'
import { checkClaimSigner, isSameRequest, withCanonicalSignatures } from './signatures.js'

/** The failed row of an earlier request, and the deadline of this one (Unix milliseconds). */
interface SendTerms {
  failed: Job | undefined
  deadline: number
  brought: Brought
}

/** A request that was checked, and its job. */
interface CheckedRequest {
  request: BatchRequest
  chain: Network
  plan: Extract<Plan, { state: 'toDo' }>
}

interface BatchSettlerOptions {
  networks: ReadonlyMap<string, Network>
  journal: SettlementJournal
  deliveries: Deliveries
  relayers: ReadonlyMap<string, Relayer>
  settleWaitSeconds: number
  checksum: (address: Address) => Address
  recovery: Pick<SignerRecovery, 'recoverSigner'>
  inTurn: CheckTurns
  /** Returns where the status of a row is found by its id. */
  statusUrl: (settlementId: string) => string
  /** Unix milliseconds. */
  now: () => number
  log: { warn(details: object, message: string): void }
}

/** Creates the function that answers `POST /settle` for deposit, claim, settle and refund. */
export function createBatchSettler(options: BatchSettlerOptions): Settle {
  const settler = new BatchSettler(options)
  return (request) => settler.settle(request)
}

/**
 * Settles requests of `batch-settlement`. Each job is one row of the journal, and a repeated request gets the outcome of
 * that row. A success may be answered more than once: the merchant counts in totals what a channel pays for.
 */
class BatchSettler {
  readonly #options: BatchSettlerOptions
  readonly #waitForOutcome: ReturnType<typeof createOutcomeWait>
  readonly #answers: ReturnType<typeof createOutcomeAnswers>

  constructor(options: BatchSettlerOptions) {
    this.#options = options
    this.#waitForOutcome = createOutcomeWait(options)
    this.#answers = createOutcomeAnswers(options)
  }

  /**
   * Answers a request to settle. Rejects with `RpcUnavailableError` when the chain could not be read and nothing was sent.
   */
  async settle(asked: SettleRequest): Promise<SettleResult> {
    const { checksum, settleWaitSeconds, statusUrl, now } = this.#options
    const { body } = asked
    const parsed = parseBatchRequest(body)
    if (!parsed.ok) {
      const payer = readPayer(body)
      const subject = { network: readNetwork(body), payer: payer && checksum(payer) }
      return settleRejection(parsed.rejection, subject)
    }
    const { request } = parsed
    const { maxTimeoutSeconds } = request.requirements
    // The channel manager of the official package sends 0 and means no limit.
    const waitSeconds = Math.min(settleWaitSeconds, maxTimeoutSeconds || settleWaitSeconds)
    const deadline = now() + waitSeconds * 1000
    const result = await this.#settleRequest(request, deadline, asked.caller ?? '')
    const answered = {
      ...(await this.#answers.leaseDelivery(result, asked)),
      payment: toAnsweredBatchPayment(request),
    }
    return withSettlementStatus(answered, statusUrl)
  }

  /** Checks a request and plans its job, or returns the refusal. */
  async #prepare(asked: BatchRequest): Promise<CheckedRequest | Rejection> {
    if (!isSettled(asked.payload)) return notSettled
    const chain = checkRequest(asked, this.#options.networks)
    if (isRejection(chain)) return chain
    const unsigned = await checkClaimSigner(asked.payload, chain, this.#options.recovery)
    if (unsigned !== undefined) return unsigned
    const payload = await withCanonicalSignatures(asked.payload, chain.readCoded)
    const token = findToken(asked.requirements.asset, chain.terms)
    if (isRejection(token)) return token
    const plan = await planJob(payload, chain, token)
    return plan.state === 'refused'
      ? plan.rejection
      : { request: { ...asked, payload }, chain, plan }
  }

  async #settleRequest(
    asked: BatchRequest,
    deadline: number,
    caller: string,
  ): Promise<SettleResult> {
    // Nothing that waits for the chain's next block may keep the turn.
    const prepared = await this.#options.inTurn(caller, () => this.#prepare(asked))
    if (isRejection(prepared)) return this.#answers.refuse(asked, prepared)
    const { request, chain, plan } = prepared
    const { job } = plan
    const row = await this.#findRow(job, request)
    if (row !== undefined && isActive(row)) {
      if (await isSameRequest(row, job)) {
        const outcome = await this.#waitForOutcome(row, deadline, false)
        return this.#answers.answerJob(outcome, request, chain)
      }
      if (row.digest !== job.digest) {
        return this.#settleAfter(row, job, request, { deadline, caller })
      }
    }
    const brought = await checkRecipient(request, chain, caller)
    if (isRejection(brought)) return this.#answers.refuse(request, brought)
    const { gasPayer = PAYOUTS + caller, accountsThatRun } = plan
    const refusal =
      plan.refusal ?? (await checkGasBudgets(chain, gasPayer, accountsThatRun, brought))
    if (refusal !== undefined) return this.#answers.refuse(request, refusal)
    return this.#carryOut(request, chain, plan, { failed: row, deadline, brought })
  }

  /** Settles by the scheme, and answers with the outcome. A job that the scheme refuses may be on chain all the same. */
  async #carryOut(
    request: BatchRequest,
    chain: Network,
    plan: Extract<Plan, { state: 'toDo' }>,
    terms: SendTerms,
  ): Promise<SettleResult> {
    const { journal, now } = this.#options
    const answers = this.#answers
    const { job, isDone = false } = plan
    let hasPassed = false
    let worthless: Rejection | undefined
    const requestSigner = createRequestSigner({
      rpc: chain.rpc,
      relayers: chain.relayer.addresses,
      authorization:
        job.action === 'deposit' ? { digest: job.digest, asset: job.details.asset } : undefined,
      send: async (call) => {
        hasPassed = true
        if (isDone) throw new Error('a transaction would change nothing')
        worthless = (await screenParties(request, chain)) ?? (await checkWorth(plan, call, chain))
        if (worthless !== undefined) throw new Error(worthless.message)
        const covered = await coverDeposit(job, chain)
        if (isRejection(covered)) {
          worthless = covered
          throw new Error(covered.message)
        }
        const claiming = this.#claimJob(job, call, request, chain, terms)
        const { job: sent, isOurs } = await claiming.finally(covered.uncount)
        return this.#waitForOutcome(sent, terms.deadline, isOurs)
      },
    })
    const rejection = await settleByScheme(request, requestSigner)
    const sent = requestSigner.job()
    if (sent !== undefined) {
      if (sent.digest === job.digest) return answers.answerJob(sent, request, chain)
      const { caller } = terms.brought
      return this.#settleAfter(sent, job, request, { deadline: terms.deadline, caller })
    }
    const since = await this.#findRow(job, request)
    const isKnown = since !== undefined && isActive(since) && (await isSameRequest(since, job))
    const landed = isKnown
      ? since
      : await recordLandedDeposit(journal, now, job, request, chain, rejection)
    if (landed !== undefined) {
      const outcome = await this.#waitForOutcome(landed, terms.deadline, false)
      return answers.answerJob(outcome, request, chain)
    }
    // Somebody may have asked for the payout meanwhile.
    const isPaidOut = isDone || rejection?.reason === 'batchNothingToSettle'
    if (job.action === 'settle' && isPaidOut) return answers.answerPaidOut(job, request, chain)
    if (job.action === 'claim' && isDone && hasPassed) {
      return answers.answerClaimed(job, request, chain)
    }
    return answers.refuse(request, worthless ?? (rejection as Rejection))
  }

  /** Turns a call of the scheme into a job: claims or reopens its row, and hands it to the relayer. */
  async #claimJob(
    { action, key, digest, expiresAt, details, proof }: BatchJob,
    { to, calldata }: { to: Address; calldata: Hex },
    request: BatchRequest,
    chain: Network,
    { failed, brought }: SendTerms,
  ): Promise<{ job: Job; isOurs: boolean }> {
    const kind = batchKinds[action]
    const seenBlock = chain.headBlock()
    const { network } = request
    const { caller, standing } = brought
    const kept = {
      ...details,
      caller,
      standing,
      ...(proof && { signatureDigest: digestOfSignature(proof.signature) }),
    }
    const resource = writeResource(request)
    const content = { kind, network, key, digest, to, calldata, resource, seenBlock, expiresAt }
    const job = { id: randomUUID(), ...content, details: JSON.stringify(kept) }
    const obtained = await this.#obtainRow(job, failed)
    if (obtained.isOurs) this.#options.relayers.get(network)?.submit(obtained.job)
    return obtained
  }

  /** Claims or reopens the row, and returns whether this request did so; another one may have been quicker. */
  async #obtainRow(job: NewJob, failed: Job | undefined): Promise<{ job: Job; isOurs: boolean }> {
    const { journal, now } = this.#options
    if (failed !== undefined) {
      const reopened = await journal.reopen(failed, job, now())
      if (reopened !== undefined) return { job: reopened, isOurs: true }
      const held = await journal.findJob(job.kind, job.network, job.key)
      return { job: held as Job, isOurs: false }
    }
    const claim = await journal.claim(job, undefined, now())
    if (claim.state === 'keyConflict') throw new Error('a job without a key met a conflict of keys')
    return { job: claim.job, isOurs: claim.state === 'claimed' }
  }

  async #findRow(job: BatchJob, request: BatchRequest): Promise<Job | undefined> {
    return this.#options.journal.findJob(batchKinds[job.action], request.network, job.key)
  }

  /** Waits for another authorization with the same key; this one may only try if that one fails. */
  async #settleAfter(
    first: Job,
    job: BatchJob,
    request: BatchRequest,
    { deadline, caller }: { deadline: number; caller: string },
  ): Promise<SettleResult> {
    const outcome = await this.#waitForOutcome(first, deadline, false)
    if (outcome.state === 'failed') return this.#settleRequest(request, deadline, caller)
    const message = `Another ${job.action} with the same nonce went first.`
    const rejection = reject(simulationReasons[job.action], message)
    return this.#answers.refuse(request, rejection, outcome.transaction)
  }
}

const notSettled = reject('batchPayloadType', reasons.batchPayloadType.meaning)

function isActive(row: Job): boolean {
  return row.state !== 'failed'
}

/** Returns whether settle takes a payload: the merchant keeps vouchers, and a refund needs the merchant's members. */
function isSettled(payload: BatchPayload): payload is SettledPayload {
  return payload.type !== 'voucher' && (payload.type !== 'refund' || 'refundNonce' in payload)
}
