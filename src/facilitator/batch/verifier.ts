import type { Address, Hex } from 'viem'
import type { SettlementJournal } from '../../store/settlement-journal.js'
import { type BatchRequest, parseBatchRequest, payerOf } from '../../x402/batch-request.js'
import type { Deposit, Refund, Voucher } from '../../x402/batch-schemas.js'
import { readPayer } from '../../x402/parse-request.js'
import { type Rejection, reasons } from '../../x402/reasons.js'
import { verifyRejection, verifyUnavailable } from '../answers.js'
import { reject } from '../ladder.js'
import type { SignedDigest, TakeVerified, VerifiedPayments } from '../verified.js'
import type { Verify } from '../verifier.js'
import { batchKinds, identifyDeposit } from './actions.js'
import { type BatchNetwork, findGround, guardAccounts, isRejected } from './ground.js'
import { isLandedElsewhere } from './landed.js'
import { isSameRequest } from './proof.js'
import { createRequestSigner } from './request-signer.js'
import { type SchemeVerdict, verifyByScheme } from './scheme.js'
import { judgeClaimable, withCanonicalSignatures } from './signatures.js'
import { summaryOf } from './summary.js'

export interface BatchVerifierOptions {
  networks: ReadonlyMap<string, BatchNetwork>
  journal: SettlementJournal
  verified: VerifiedPayments
  checksum: (address: Address) => Address
  /** Whether a wallet can bring anything of this network on chain at present. */
  canSettle: (network: string) => boolean
}

type VerifiedRequest = BatchRequest & { payload: Deposit | Voucher | Refund }

/** The same as `createVerifiedCheck` for the deposit in a body. */
export function createVerifiedDepositCheck(
  verified: VerifiedPayments,
  networks: ReadonlyMap<string, BatchNetwork>,
): TakeVerified {
  return (body) => {
    const parsed = parseBatchRequest(body)
    if (!parsed.ok || parsed.request.payload.type !== 'deposit') return false
    const ground = networks.get(parsed.request.network)
    return ground !== undefined && verified.take(signedDeposit(parsed.request.payload, ground))
  }
}

function signedDeposit(payload: Deposit, { chainId, served }: BatchNetwork): SignedDigest {
  const { token } = served.terms
  const { digest } = identifyDeposit(payload, chainId, token)
  const { signature } = payload.deposit.authorization.erc3009Authorization
  return { network: token.network, digest, signature }
}

/** Answers `POST /verify` for deposits, vouchers and refunds. Rejects with `RpcUnavailableError` when the chain could not be read. */
export function createBatchVerifier(options: BatchVerifierOptions): Verify {
  const { networks, journal, verified, checksum } = options

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
    if (!options.canSettle(request.network)) return verifyUnavailable(payer && checksum(payer))
    const { extra } = verdict
    return {
      status: 200,
      body: { isValid: true, payer: checksum(payer as Address), extra: { ...extra } },
      payment,
    }
  }

  async function judge(asked: BatchRequest): Promise<SchemeVerdict> {
    if (asked.payload.type === 'claim' || asked.payload.type === 'settle') {
      return refused(notVerified)
    }
    const ground = findGround(asked, networks)
    if (isRejected(ground)) return refused(ground)
    const payload = await withCanonicalSignatures(asked.payload, ground.served.rpc)
    const request = { ...asked, payload }
    if (payload.type === 'voucher') return ask(request, ground)
    const verdict = await (payload.type === 'deposit'
      ? judgeDeposit(request, payload, ground)
      : ask(request, ground))
    if (!verdict.ok) return verdict
    const { payer, receiverAuthorizer } = payload.channelConfig
    const gasRefusal = await (payload.type === 'deposit'
      ? guardAccounts(ground, payer, [payer], BigInt(payload.deposit.amount))
      : guardAccounts(ground, receiverAuthorizer, [receiverAuthorizer]))
    if (gasRefusal !== undefined) return refused(gasRefusal)
    // What was found valid is not refused for the pace of its merchant.
    if (payload.type === 'deposit') verified.note(signedDeposit(payload, ground))
    return verdict
  }

  /** A deposit that landed is settled again with its hash, so it is as good as its voucher. */
  async function judgeDeposit(
    request: VerifiedRequest,
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
    const verdict = await ask(request, ground, job.digest)
    if (verdict.ok) return verdict
    // It may have landed while it was looked at, or by other hands.
    const isOnChain =
      (await hasLanded()) || (await isLandedElsewhere(job, ground, verdict.rejection))
    return isOnChain ? ask(voucherOnly, ground) : verdict
  }

  /** What the scheme finds good, the settlement contract must be able to claim. */
  async function ask(
    request: VerifiedRequest,
    { served, relayers }: BatchNetwork,
    digest?: Hex,
  ): Promise<SchemeVerdict> {
    const { rpc } = served
    const send = () => Promise.reject(new Error('verify sends nothing'))
    const authorization = digest && { digest, asset: request.requirements.asset }
    const behind = createRequestSigner({ rpc, relayers, send, authorization })
    const verdict = await verifyByScheme(request, behind)
    if (!verdict.ok) return verdict
    const { channelConfig, voucher } = request.payload
    const rejection = await judgeClaimable(rpc, channelConfig, voucher, behind.deposit())
    return rejection === undefined ? verdict : refused(rejection)
  }
}

const notVerified = reject('batchPayloadType', reasons.batchPayloadType.meaning)

function refused(rejection: Rejection): SchemeVerdict {
  return { ok: false, rejection }
}
