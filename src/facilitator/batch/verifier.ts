import type { Address } from 'viem'
import type { SettlementJournal } from '../../store/settlement-journal.js'
import type { SightingStore } from '../../store/sightings.js'
import { type BatchRequest, parseBatchRequest, payerOf } from '../../x402/batch-request.js'
import type { Deposit } from '../../x402/batch-schemas.js'
import { readPayer } from '../../x402/parse-request.js'
import { type Rejection, reasons } from '../../x402/reasons.js'
import { verifyRejection } from '../answers.js'
import { reject } from '../ladder.js'
import { MAX_SIGHTING_SECONDS, type Verify } from '../verifier.js'
import { batchKinds, identifyDeposit } from './actions.js'
import { type BatchNetwork, findGround, isRejected } from './ground.js'
import { isLandedElsewhere } from './landed.js'
import { isSameRequest } from './proof.js'
import { createRequestSigner } from './request-signer.js'
import { type SchemeVerdict, verifyByScheme } from './scheme.js'
import { summaryOf } from './summary.js'

export interface BatchVerifierOptions {
  networks: ReadonlyMap<string, BatchNetwork>
  journal: SettlementJournal
  sightings: SightingStore
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

/** Tells whether a body holds a deposit that was seen valid here before. */
export function createVerifiedDepositCheck(
  sightings: SightingStore,
  networks: ReadonlyMap<string, BatchNetwork>,
) {
  return async (body: unknown): Promise<boolean> => {
    const parsed = parseBatchRequest(body)
    if (!parsed.ok || parsed.request.payload.type !== 'deposit') return false
    const { network, payload } = parsed.request
    const ground = networks.get(network)
    if (ground === undefined) return false
    const { digest } = identifyDeposit(payload, ground.chainId, ground.served.terms.token)
    return (await sightings.findSighting(network, digest)) !== undefined
  }
}

/** Answers `POST /verify` for deposits, vouchers and refunds. Rejects with `RpcUnavailableError` when the chain could not be read. */
export function createBatchVerifier(options: BatchVerifierOptions): Verify {
  const { networks, journal, sightings, checksum, now } = options

  return async (body) => {
    const parsed = parseBatchRequest(body)
    if (!parsed.ok) {
      const payer = readPayer(body)
      return verifyRejection(parsed.rejection, payer && checksum(payer))
    }
    const { request } = parsed
    const payer = payerOf(request.payload)
    const payment = summaryOf(request)
    const verdict = await judge(request)
    if (!verdict.ok) {
      return { ...verifyRejection(verdict.rejection, payer && checksum(payer)), payment }
    }
    const { extra } = verdict
    return {
      status: 200,
      body: { isValid: true, payer: checksum(payer as Address), extra: { ...extra } },
      payment,
    }
  }

  async function judge(request: BatchRequest): Promise<SchemeVerdict> {
    const { payload } = request
    if (payload.type === 'claim' || payload.type === 'settle') return refused(notVerified)
    const ground = findGround(request, networks)
    if (isRejected(ground)) return refused(ground)
    if (payload.type === 'voucher') return ask(request, ground)
    const verdict = await (payload.type === 'deposit'
      ? judgeDeposit(request, payload, ground)
      : ask(request, ground))
    if (!verdict.ok) return verdict
    const { payer, receiverAuthorizer } = payload.channelConfig
    const gasRefusal = await ground.served.guardGas(
      payload.type === 'deposit' ? payer : receiverAuthorizer,
    )
    if (gasRefusal !== undefined) return refused(gasRefusal)
    if (payload.type === 'deposit') note(payload, ground)
    return verdict
  }

  /** What was found good is not refused for the pace of its merchant. */
  function note(payload: Deposit, { chainId, served, headBlock }: BatchNetwork): void {
    const { network } = served.terms.token
    const { digest, expiresAt } = identifyDeposit(payload, chainId, served.terms.token)
    const end = Math.floor(now() / 1000) + MAX_SIGHTING_SECONDS
    const blockNumber = headBlock()
    sightings.note({ network, digest, blockNumber, expiresAt: Math.min(expiresAt, end) })
  }

  /** A deposit that landed is settled again with its hash, so it is as good as its voucher. */
  async function judgeDeposit(
    request: BatchRequest,
    payload: Deposit,
    ground: BatchNetwork,
  ): Promise<SchemeVerdict> {
    const job = identifyDeposit(payload, ground.chainId, ground.served.terms.token)
    const hasLanded = async () => {
      const row = await journal.findJob(batchKinds.deposit, request.network, job.key)
      return row?.state === 'confirmed' && (await isSameRequest(row, job))
    }
    const { channelConfig, voucher } = payload
    const voucherOnly = {
      ...request,
      payload: { type: 'voucher', channelConfig, voucher },
    } as const
    if (await hasLanded()) return ask(voucherOnly, ground)
    const verdict = await ask(request, ground)
    if (verdict.ok) return verdict
    // It may have landed while it was looked at, or by other hands.
    const isOnChain =
      (await hasLanded()) || (await isLandedElsewhere(job, ground, verdict.rejection))
    return isOnChain ? ask(voucherOnly, ground) : verdict
  }

  function ask(request: BatchRequest, { served, relayers }: BatchNetwork): Promise<SchemeVerdict> {
    const send = () => Promise.reject(new Error('verify sends nothing'))
    return verifyByScheme(request, createRequestSigner({ rpc: served.rpc, relayers, send }))
  }
}

const notVerified = reject('batchPayloadType', reasons.batchPayloadType.meaning)

function refused(rejection: Rejection): SchemeVerdict {
  return { ok: false, rejection }
}
