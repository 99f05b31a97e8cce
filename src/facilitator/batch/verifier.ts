import type { BatchDigests } from '@arcus/protocol/x402/batch-digest'
import {
  type BatchRequest,
  parseBatchRequest,
  payerOf,
  toAnsweredBatchPayment,
} from '@arcus/protocol/x402/batch-request'
import type { ChannelRefund, Deposit, Voucher } from '@arcus/protocol/x402/batch-schemas'
import { readPayer, readPayloadSize } from '@arcus/protocol/x402/parse-request'
import { isRejection, type Rejection, reasons, reject } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import type { SignerRecovery } from '../../chain/signer-recovery.js'
import { verifyRejection, verifyUnavailable } from '../answers.js'
import type { SettlementJournal } from '../journal/settlement-journal.js'
import { findToken } from '../methods/checks.js'
import type { AcceptedToken, Network } from '../methods/network.js'
import type { SignedDigest, TakeVerified, VerifiedPayments } from '../verify/verified-payments.js'
import type { Verify } from '../verify/verifier.js'
import type { CheckTurns } from './check-turns.js'
import { checkGasBudgets, checkRecipient, checkRequest, screenParties } from './checks.js'
import { batchKinds, identifyDeposit } from './jobs.js'
import { isLandedElsewhere } from './outcomes.js'
import { createRequestSigner, type SchemeResult, verifyByScheme } from './scheme.js'
import {
  checkClaimable,
  checkClaimSigner,
  isSameRequest,
  withCanonicalSignatures,
} from './signatures.js'

type VerifiedRequest = BatchRequest & { payload: Deposit | Voucher | ChannelRefund }

/** Makes the same as `createVerifiedCheck` for the deposit in a body. */
export function createVerifiedDepositCheck(
  verified: VerifiedPayments,
  networks: ReadonlyMap<string, Network>,
): TakeVerified {
  return (body) => {
    if (readPayloadSize(body).type !== 'deposit') return false
    const parsed = parseBatchRequest(body)
    if (!parsed.ok || parsed.request.payload.type !== 'deposit') return false
    const { network, payload } = parsed.request
    const chain = networks.get(network)
    const token = chain?.terms.tokens.get(payload.channelConfig.token)
    if (chain === undefined || token === undefined) return false
    return verified.take(signedDeposit(payload, token, chain.channelDigests))
  }
}

function signedDeposit(
  payload: Deposit,
  token: AcceptedToken,
  digests: BatchDigests,
): SignedDigest {
  const { digest } = identifyDeposit(payload, token, digests)
  const { signature } = payload.deposit.authorization.erc3009Authorization
  return { network: token.network, digest, signature }
}

/**
 * Answers `POST /verify` for deposits, vouchers and refunds. Rejects with `RpcUnavailableError` when the chain could not be
 * read.
 */
export function createBatchVerifier(options: {
  networks: ReadonlyMap<string, Network>
  journal: SettlementJournal
  verified: VerifiedPayments
  checksum: (address: Address) => Address
  recovery: Pick<SignerRecovery, 'recoverSigner'>
  inTurn: CheckTurns
  /** Returns whether a relayer can send transactions on this network now. */
  canSettle: (network: string) => boolean
}): Verify {
  const { networks, journal, verified, checksum, recovery, inTurn } = options

  return async (body, caller = '') => {
    const parsed = parseBatchRequest(body)
    if (!parsed.ok) {
      const payer = readPayer(body)
      return verifyRejection(parsed.rejection, payer && checksum(payer))
    }
    const { request } = parsed
    const payer = payerOf(request.payload)
    const payment = toAnsweredBatchPayment(request)
    const result = await inTurn(caller, () => check(request, caller))
    if (!result.ok) {
      return { ...verifyRejection(result.rejection, payer && checksum(payer)), payment }
    }
    if (!options.canSettle(request.network)) return verifyUnavailable(payer && checksum(payer))
    const { extra } = result
    return {
      status: 200,
      body: { isValid: true, payer: checksum(payer as Address), extra: { ...extra } },
      payment,
    }
  }

  async function check(asked: BatchRequest, caller: string): Promise<SchemeResult> {
    if (asked.payload.type === 'claim' || asked.payload.type === 'settle') {
      return refused(notVerified)
    }
    const chain = checkRequest(asked, networks)
    if (isRejection(chain)) return refused(chain)
    const unsigned = await checkClaimSigner(asked.payload, chain, recovery)
    if (unsigned !== undefined) return refused(unsigned)
    const brought = await checkRecipient(asked, chain, caller)
    if (isRejection(brought)) return refused(brought)
    const payload = await withCanonicalSignatures(asked.payload, chain.readCoded)
    const request = { ...asked, payload }
    if (payload.type === 'voucher') return askScheme(request, chain)
    const token = findToken(request.requirements.asset, chain.terms)
    if (isRejection(token)) return refused(token)
    const result = await (payload.type === 'deposit'
      ? verifyDeposit(request, payload, chain, token)
      : askScheme(request, chain))
    if (!result.ok) return result
    const { payer, receiverAuthorizer } = payload.channelConfig
    const gasRefusal = await (payload.type === 'deposit'
      ? checkGasBudgets(chain, payer, [payer], brought)
      : checkGasBudgets(chain, receiverAuthorizer, [receiverAuthorizer], brought))
    if (gasRefusal !== undefined) return refused(gasRefusal)
    // The rate limit does not refuse the settle of a deposit that verify found valid.
    if (payload.type === 'deposit') {
      verified.note(signedDeposit(payload, token, chain.channelDigests))
    }
    return result
  }

  /** Verifies a deposit. One that is on chain settles again with its hash, so it is valid if its voucher is. */
  async function verifyDeposit(
    request: VerifiedRequest,
    payload: Deposit,
    chain: Network,
    token: AcceptedToken,
  ): Promise<SchemeResult> {
    const job = identifyDeposit(payload, token, chain.channelDigests)
    const hasLanded = async () => {
      const row = await journal.findJob(batchKinds.deposit, request.network, job.key)
      return row?.state === 'confirmed' && (await isSameRequest(row, job))
    }
    const { channelConfig, voucher } = payload
    const voucherOnly = {
      ...request,
      payload: { type: 'voucher', channelConfig, voucher },
    } as const
    if (await hasLanded()) return askScheme(voucherOnly, chain)
    const result = await askScheme(request, chain, job.digest)
    if (result.ok) return result
    // It may have settled meanwhile, or somebody else may have sent it.
    const isOnChain = (await hasLanded()) || (await isLandedElsewhere(job, chain, result.rejection))
    return isOnChain ? askScheme(voucherOnly, chain) : result
  }

  /** Verifies by the scheme, and checks that the settlement contract would accept the voucher. */
  async function askScheme(
    request: VerifiedRequest,
    chain: Network,
    digest?: Hex,
  ): Promise<SchemeResult> {
    const send = () => Promise.reject(new Error('verify sends nothing'))
    const authorization = digest && { digest, asset: request.requirements.asset }
    const requestSigner = createRequestSigner({
      rpc: chain.rpc,
      relayers: chain.relayer.addresses,
      send,
      authorization,
    })
    const result = await verifyByScheme(request, requestSigner)
    if (!result.ok) return result
    const { channelConfig, voucher } = request.payload
    const rejection =
      (await screenParties(request, chain)) ??
      (await checkClaimable(chain.rpc, channelConfig, voucher, requestSigner.deposit()))
    return rejection === undefined ? result : refused(rejection)
  }
}

const notVerified = reject('batchPayloadType', reasons.batchPayloadType.meaning)

function refused(rejection: Rejection): SchemeResult {
  return { ok: false, rejection }
}
