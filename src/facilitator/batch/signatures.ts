import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { toQuantity } from '../../chain/abi.js'
import { batchContracts } from '../../chain/batch-settlement.js'
import { WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import type { Rpc } from '../../chain/rpc.js'
import { asUnasked, isRevert, RpcUnavailableError, revertText } from '../../chain/rpc-errors.js'
import { zeroAddress } from '../../x402/address.js'
import type { BatchPayload, ChannelConfig, ClaimRow, Voucher } from '../../x402/batch-schemas.js'
import { canonicalSignature } from '../../x402/canonical-signature.js'
import type { Rejection } from '../../x402/reasons.js'
import { reject } from '../ladder.js'
import { rowsGas } from './kinds.js'
import { wordsOf } from './revert-words.js'

/**
 * Brings the signatures of plain accounts into the one form that token and settlement contract take: what verified off
 * chain in another form would revert on chain. Those of accounts with code are theirs to read. The signature over a
 * claim does not cover the signatures of its rows. Throws `RpcUnavailableError`.
 */
export async function withCanonicalSignatures<Payload extends BatchPayload>(
  payload: Payload,
  rpc: Rpc,
): Promise<Payload> {
  const unsure = new Set<Address>()
  respell(payload, (signature, signer, isPlain) => {
    const isBent = (canonicalSignature(signature) ?? signature) !== signature
    if (isBent && !isPlain) unsure.add(signer)
    return signature
  })
  const withCode = await readWithCode(rpc, [...unsure])
  return respell(payload, (signature, signer, isPlain) =>
    !isPlain && withCode.has(signer) ? signature : (canonicalSignature(signature) ?? signature),
  ) as Payload
}

/** `isPlain`: the contract recovers this signer whatever code it has. */
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

async function readWithCode(rpc: Rpc, accounts: readonly Address[]): Promise<Set<Address>> {
  if (accounts.length === 0) return new Set()
  const codes = await rpc.batch(
    accounts.map((account) => ({ method: 'eth_getCode', params: [account, 'latest'] })),
  )
  return new Set(
    accounts.filter((_, i) => {
      const code = codes[i]
      if (!code?.ok || typeof code.value !== 'string') {
        throw new RpcUnavailableError('the chain node did not tell the code of an account')
      }
      return code.value.length > 2
    }),
  )
}

const CALL_TIMEOUT_MS = 3_000

/**
 * Has the settlement contract itself judge a voucher that the payer signs, by the very claim, as the receiver could
 * send it: a wallet hears who asks it, with how much gas, and whether it may write, so no other question is the same.
 * `deposit` is the call that goes before it. Throws `RpcUnavailableError`.
 */
export async function judgeClaimable(
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
    await rpc.request('eth_call', [call, 'latest'], { timeoutMs: CALL_TIMEOUT_MS })
    return undefined
  } catch (error) {
    if (!isRevert(error)) throw asUnasked(error)
    const words = JSON.stringify(wordsOf(revertText(error)))
    return reject(
      'batchVoucherSignature',
      `The settlement contract does not take the voucher: ${words}.`,
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
