import { isChannelContract } from '@arcus/protocol/x402/address'
import type { BatchRequest } from '@arcus/protocol/x402/batch-request'
import type { ChannelConfig, ClaimRow } from '@arcus/protocol/x402/batch-schemas'
import { quote } from '@arcus/protocol/x402/json'
import { isNetwork } from '@arcus/protocol/x402/networks'
import { isRejection, type Rejection, reasons, reject } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import { checkDomain, checkMinimum, checkParties, findToken } from '../methods/checks.js'
import type { Network, NetworkTerms } from '../methods/network.js'
import type { Brought } from '../relayer/gas-guard.js'

/**
 * Checks what the scheme of the official package does not know: network, contracts, asset, parties, minimum. Returns the
 * network of the request, or a rejection. Throws `TokenMismatchError` when the token has changed.
 */
export function checkRequest(
  request: BatchRequest,
  networks: ReadonlyMap<string, Network>,
): Network | Rejection {
  const { network, acceptedScheme, acceptedNetwork } = request
  if (acceptedScheme !== 'batch-settlement') {
    return reject(
      'batchScheme',
      `The payer accepted scheme ${quote(acceptedScheme)}, expected "batch-settlement".`,
    )
  }
  const chain = networks.get(network)
  if (chain === undefined) return unknownNetwork(network, [...networks.keys()])
  if (acceptedNetwork !== network) {
    return reject(
      'batchNetworkMismatch',
      `The payer accepted network ${quote(acceptedNetwork)}, the requirement names ${network}.`,
    )
  }
  if (!chain.isBatchOffered()) {
    return reject(
      'unsupportedScheme',
      `Scheme "batch-settlement" is not settled on ${network}: its contracts have no code there.`,
    )
  }
  const mismatch = chain.tokenMismatch(request.requirements.asset)
  if (mismatch !== undefined) throw mismatch
  return checkRequestTerms(request, chain) ?? checkRepetition(request, chain) ?? chain
}

/**
 * Checks the gas budgets of the account that is charged, and of every account whose code would run. Throws
 * `RpcUnavailableError`.
 */
export async function checkGasBudgets(
  chain: Network,
  gasPayer: string,
  accountsThatRun: readonly Address[],
  brought: Brought,
): Promise<Rejection | undefined> {
  const coded: ReadonlySet<string> = await chain.readCoded(accountsThatRun)
  for (const account of new Set([gasPayer, ...coded])) {
    const refusal = await chain.guardGas({ account, hasCode: coded.has(account), ...brought })
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** Returns who brings a request and for whom, or refuses a recipient for whom the operator pays no gas. */
export async function checkRecipient(
  { payload }: BatchRequest,
  chain: Network,
  caller: string,
): Promise<Brought | Rejection> {
  let found: Brought | undefined
  for (const { payer, receiver } of partiesOf(payload)) {
    const standing = await chain.recipients.check({ payer, payTo: receiver })
    if (typeof standing !== 'string') return standing
    found ??= { caller, payTo: receiver, standing }
  }
  return found as Brought
}

/** Refuses parties that the operator screens out. It is asked once the signatures are checked and before a job is claimed. */
export async function screenParties(
  { payload }: BatchRequest,
  { screening, terms: { network } }: Network,
): Promise<Rejection | undefined> {
  if (screening === undefined) return undefined
  for (const { payer, receiver } of partiesOf(payload)) {
    const rejection = await screening.check({ network, payer, payTo: receiver })
    if (rejection !== undefined) return rejection
  }
  return undefined
}

/** Returns the payers and receivers that a payload is about. Anybody may ask for a payout, so that it names no payer. */
function partiesOf(payload: BatchRequest['payload']): { payer: Address; receiver: Address }[] {
  switch (payload.type) {
    case 'claim':
      return payload.claims.map(({ voucher }) => voucher.channel)
    case 'settle':
      return [{ payer: payload.receiver, receiver: payload.receiver }]
    default:
      return [payload.channelConfig]
  }
}

function unknownNetwork(network: string, served: string[]): Rejection {
  const state = isNetwork(network) ? 'known but not served here' : 'not supported'
  return reject(
    'invalidNetwork',
    `Network ${quote(network)} is ${state}; served: ${served.join(' and ')}.`,
  )
}

function checkRequestTerms(request: BatchRequest, { terms }: Network): Rejection | undefined {
  const { payload, requirements } = request
  const { asset } = requirements
  const extra = requirements.extra ?? {}
  const token = findToken(asset, terms)
  if (isRejection(token)) return token
  switch (payload.type) {
    case 'deposit':
      return (
        checkDepositMethod(extra) ??
        checkDomain(extra, token, 'batchMissingEip712Domain') ??
        checkMinimum(BigInt(payload.deposit.amount), token) ??
        checkChannel(payload.channelConfig, terms) ??
        checkToken(payload.channelConfig.token, asset)
      )
    case 'voucher':
      return (
        checkChannel(payload.channelConfig, terms) ?? checkToken(payload.channelConfig.token, asset)
      )
    case 'refund':
      return (
        checkChannel(payload.channelConfig, terms) ??
        checkToken(payload.channelConfig.token, asset) ??
        checkRows('claims' in payload ? payload.claims : [], asset, terms)
      )
    case 'claim':
      return checkRows(payload.claims, asset, terms)
    case 'settle':
      return checkToken(payload.token, asset) ?? checkReceiver(payload.receiver, terms)
  }
}

function checkDepositMethod({
  assetTransferMethod = 'eip3009',
}: NonNullable<BatchRequest['requirements']['extra']>): Rejection | undefined {
  if (assetTransferMethod === 'eip3009') return undefined
  return reject(
    'unsupportedPayloadType',
    `Deposits by ${quote(assetTransferMethod)} are not settled here; expected "eip3009".`,
  )
}

function checkChannel(
  { payer, receiver }: ChannelConfig,
  terms: NetworkTerms,
): Rejection | undefined {
  return checkParties(payer, receiver, terms)
}

/** Checks token and receiver of each row: a request is about one asset, so that its amounts may be added. */
function checkRows(
  rows: readonly ClaimRow[],
  asset: Address,
  terms: NetworkTerms,
): Rejection | undefined {
  for (const { voucher } of rows) {
    const { token, receiver } = voucher.channel
    const rejection = checkToken(token, asset) ?? checkReceiver(receiver, terms)
    if (rejection !== undefined) return rejection
  }
  return undefined
}

/** Refuses several rows of one channel: only the highest counts on chain, and each costs gas. */
function checkRepetition(
  { payload }: BatchRequest,
  { channelDigests }: Network,
): Rejection | undefined {
  const rows = 'claims' in payload ? payload.claims : []
  const channels = new Set(rows.map(({ voucher }) => channelDigests.channel(voucher.channel)))
  if (channels.size === rows.length) return undefined
  return reject('batchRepeatedChannel', reasons.batchRepeatedChannel.meaning)
}

function checkToken(token: Address, asset: Address): Rejection | undefined {
  if (token === asset) return undefined
  return reject('batchTokenMismatch', `The token ${token} is not the asset ${asset}.`)
}

function checkReceiver(receiver: Address, terms: NetworkTerms): Rejection | undefined {
  if (isChannelContract(receiver)) {
    return reject('invalidPayTo', `The receiver ${receiver} is a contract of x402.`)
  }
  if (!terms.isPayToBlocked(receiver)) return undefined
  return reject(
    'payToNotAllowed',
    `The operator of this facilitator blocks the recipient ${receiver}.`,
  )
}
