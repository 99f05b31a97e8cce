import { zeroAddress } from '@arcus/protocol/x402/address'
import type {
  BatchPayload,
  ChannelConfig,
  ClaimRow,
  Voucher,
} from '@arcus/protocol/x402/batch-schemas'
import { type Rejection, reject } from '@arcus/protocol/x402/reasons'
import { canonicalSignature } from '@arcus/protocol/x402/signature-forms'
import {
  type Address,
  encodeFunctionData,
  type Hex,
  hexToBytes,
  parseAbi,
  recoverAddress,
} from 'viem'
import { toQuantity } from '../../chain/abi.js'
import type { ReadCoded } from '../../chain/accounts.js'
import { batchContracts } from '../../chain/batch-settlement.js'
import { WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import type { Rpc } from '../../chain/rpc.js'
import { asUnasked, isRevert, revertText } from '../../chain/rpc-errors.js'
import type { SignerRecovery } from '../../chain/signer-recovery.js'
import type { Job } from '../journal/settlement-journal.js'
import { digestOfSignature } from '../methods/exact-job.js'
import type { Network } from '../methods/network.js'
import type { BatchJob } from './jobs.js'
import { detailsOf, nameRevert, rowsGas } from './kinds.js'

/**
 * Brings the signatures of accounts without code into the one form that token and settlement contract accept: another form
 * may verify off chain and revert on chain. Signatures of accounts with code stay as they are. The signature over a claim
 * does not cover the signatures of its rows, so these may change. Throws what a read of the chain throws.
 */
export async function withCanonicalSignatures<Payload extends BatchPayload>(
  payload: Payload,
  readCoded: ReadCoded,
): Promise<Payload> {
  const unsure = new Set<Address>()
  respell(payload, (signature, signer, isPlain) => {
    const isBent = (canonicalSignature(signature) ?? signature) !== signature
    if (isBent && !isPlain) unsure.add(signer)
    return signature
  })
  const withCode = await readCoded([...unsure])
  return respell(payload, (signature, signer, isPlain) =>
    !isPlain && withCode.has(signer) ? signature : (canonicalSignature(signature) ?? signature),
  ) as Payload
}

/**
 * Refuses claims that their authorizer did not sign, before any row is looked at: one recovery tells. An authorizer with
 * code is asked later. Throws what a read of the chain throws.
 */
export async function checkClaimSigner(
  payload: BatchPayload,
  { channelDigests, readCoded }: Pick<Network, 'channelDigests' | 'readCoded'>,
  recovery: Pick<SignerRecovery, 'recoverSigner'>,
): Promise<Rejection | undefined> {
  if (!('claims' in payload) || payload.claimAuthorizerSignature === undefined) return undefined
  const { claims, claimAuthorizerSignature: signature } = payload
  const [first] = claims
  if (first === undefined) return undefined
  const { receiverAuthorizer } = first.voucher.channel
  const digest = hexToBytes(channelDigests.claims(claims))
  const signer = recovery.recoverSigner(digest, canonicalSignature(signature) ?? signature)
  if (signer === receiverAuthorizer) return undefined
  const coded = await readCoded([receiverAuthorizer])
  if (coded.has(receiverAuthorizer)) return undefined
  const reason =
    payload.type === 'claim' ? 'batchClaimSimulationFailed' : 'batchRefundSimulationFailed'
  return reject(reason, `The claim is not signed by its authorizer ${receiverAuthorizer}.`)
}

/** Rewrites one signature. `isPlain` says that the contract recovers this signer even if it has code. */
type Spell = (signature: Hex, signer: Address, isPlain: boolean) => Hex

function respell(payload: BatchPayload, spell: Spell): BatchPayload {
  const ofVoucher = (signature: Hex, { payer, payerAuthorizer }: ChannelConfig) =>
    payerAuthorizer === zeroAddress
      ? spell(signature, payer, false)
      : spell(signature, payerAuthorizer, true)
  const ofRow = (row: ClaimRow): ClaimRow => ({
    ...row,
    signature: ofVoucher(row.signature, row.voucher.channel),
  })
  const ofAuthorizer = (signature: Hex | undefined, channel: ChannelConfig | undefined) =>
    signature && channel && spell(signature, channel.receiverAuthorizer, false)
  if (payload.type === 'settle') return payload
  if (payload.type === 'claim') {
    const { claims, claimAuthorizerSignature: signature } = payload
    const signed = ofAuthorizer(signature, claims[0]?.voucher.channel)
    return { ...payload, claims: claims.map(ofRow), claimAuthorizerSignature: signed }
  }
  const { channelConfig, voucher } = payload
  const own = { ...voucher, signature: ofVoucher(voucher.signature, channelConfig) }
  if (payload.type === 'deposit') {
    const { erc3009Authorization: given } = payload.deposit.authorization
    const signature = spell(given.signature, channelConfig.payer, false)
    const authorization = { erc3009Authorization: { ...given, signature } }
    return { ...payload, voucher: own, deposit: { ...payload.deposit, authorization } }
  }
  if (!('refundNonce' in payload)) return { ...payload, voucher: own }
  const { claims, refundAuthorizerSignature, claimAuthorizerSignature } = payload
  return {
    ...payload,
    voucher: own,
    claims: claims.map(ofRow),
    refundAuthorizerSignature: ofAuthorizer(refundAuthorizerSignature, channelConfig),
    claimAuthorizerSignature: ofAuthorizer(claimAuthorizerSignature, claims[0]?.voucher.channel),
  }
}

const CLAIM_CALL_TIMEOUT_MS = 3_000

/**
 * Checks that the settlement contract accepts a voucher that the payer signs, by simulating the claim as the receiver
 * could send it. A wallet can see its caller, the gas and whether it may write, so no other call shows the same.
 * `deposit` is the call that goes before the claim. Throws `RpcUnavailableError`.
 */
export async function checkClaimable(
  rpc: Rpc,
  channel: ChannelConfig,
  { maxClaimableAmount, signature }: Voucher['voucher'],
  deposit: Hex | undefined,
): Promise<Rejection | undefined> {
  if (channel.payerAuthorizer !== zeroAddress) return undefined
  const most = BigInt(maxClaimableAmount)
  const row = { voucher: { channel, maxClaimableAmount: most }, signature, totalClaimed: most }
  const claim = encodeFunctionData({ abi, functionName: 'claim', args: [[row]] })
  const both = deposit && [deposit, claim]
  const data = both ? encodeFunctionData({ abi, functionName: 'multicall', args: [both] }) : claim
  const gas = toQuantity(rowsGas(1).most + (both ? WALLET_GAS_CAP : 0n))
  const call = { from: channel.receiver, to: batchContracts.settlement, data, gas }
  try {
    await rpc.request('eth_call', [call, 'latest'], { timeoutMs: CLAIM_CALL_TIMEOUT_MS })
    return undefined
  } catch (error) {
    if (!isRevert(error)) throw asUnasked(error)
    const revert = JSON.stringify(nameRevert(revertText(error)))
    return reject(
      'batchVoucherSignature',
      `The settlement contract does not accept the voucher: ${revert}.`,
    )
  }
}

const abi = parseAbi([
  'struct Channel { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
  'struct Voucher { Channel channel; uint128 maxClaimableAmount; }',
  'struct Claim { Voucher voucher; bytes signature; uint128 totalClaimed; }',
  'function claim(Claim[] claims)',
  'function multicall(bytes[] calls) returns (bytes[])',
])

/**
 * Returns whether a row answers a request: the same job, with the signature that was sent or another one of the same
 * account. The other facts of a row are public once it is on chain, so the signature must prove the caller.
 */
export async function isSameRequest(row: Job, { digest, proof }: BatchJob): Promise<boolean> {
  if (row.digest !== digest) return false
  if (proof === undefined) return true
  const { hash, signature, signer } = proof
  const { signatureDigest } = detailsOf<{ signatureDigest?: string }>(row)
  if (signatureDigest === digestOfSignature(signature)) return true
  try {
    return (await recoverAddress({ hash, signature })).toLowerCase() === signer
  } catch {
    return false
  }
}
