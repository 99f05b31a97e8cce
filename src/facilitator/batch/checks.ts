import type { Address } from 'viem'
import { isChannelContract } from '../../x402/address.js'
import type { BatchRequest } from '../../x402/batch-request.js'
import type { ChannelConfig, ClaimRow } from '../../x402/batch-schemas.js'
import { quote } from '../../x402/json.js'
import { isNetwork } from '../../x402/networks.js'
import { type Rejection, reasons } from '../../x402/reasons.js'
import { checkMinimum, checkParties, reject, type Terms } from '../checks.js'
import type { ServedNetwork } from '../payment-check.js'
import { hashChannel } from './jobs.js'

/**
 * Checks what the scheme of the official package does not know: network, contracts, asset, parties, minimum. Returns the
 * network of the request, or a rejection. Throws `TokenMismatchError` when the token has changed.
 */
export function checkRequest(
  request: BatchRequest,
  networks: ReadonlyMap<string, ServedNetwork>,
): ServedNetwork | Rejection {
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
  const mismatch = chain.tokenMismatch()
  if (mismatch !== undefined) throw mismatch
  return checkRequestTerms(request, chain) ?? checkRepetition(request, chain) ?? chain
}

/**
 * Checks the gas budgets of the account that is charged, and of every account whose code would run. Throws
 * `RpcUnavailableError`.
 */
export async function checkGasBudgets(
  chain: ServedNetwork,
  gasPayer: Address,
  runners: readonly Address[],
  amount?: bigint,
): Promise<Rejection | undefined> {
  const coded = await chain.readCoded(runners)
  const worth = amount === undefined ? {} : { amount }
  for (const account of new Set([gasPayer, ...coded])) {
    const refusal = await chain.guardGas({ account, hasCode: coded.has(account), ...worth })
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function unknownNetwork(network: string, served: string[]): Rejection {
  const state = isNetwork(network) ? 'known but not served here' : 'not supported'
  return reject(
    'invalidNetwork',
    `Network ${quote(network)} is ${state}; served: ${served.join(' and ')}.`,
  )
}

function checkRequestTerms(request: BatchRequest, { terms }: ServedNetwork): Rejection | undefined {
  const { payload, requirements } = request
  const { asset, extra } = requirements
  if (asset !== terms.token.address) {
    return reject(
      'unsupportedAsset',
      `Asset ${asset} is not settled on ${request.network}; expected ${terms.token.address}.`,
    )
  }
  switch (payload.type) {
    case 'deposit':
      return (
        checkDomain(extra ?? {}, terms.token) ??
        checkMinimum(BigInt(payload.deposit.amount), terms) ??
        checkChannel(payload.channelConfig, terms)
      )
    case 'voucher':
      return checkChannel(payload.channelConfig, terms)
    case 'refund':
      return (
        checkChannel(payload.channelConfig, terms) ??
        checkToken(payload.channelConfig.token, terms) ??
        checkRows('claims' in payload ? payload.claims : [], terms)
      )
    case 'claim':
      return checkRows(payload.claims, terms)
    case 'settle':
      return checkToken(payload.token, terms) ?? checkReceiver(payload.receiver, terms)
  }
}

function checkDomain(
  extra: NonNullable<BatchRequest['requirements']['extra']>,
  token: Terms['token'],
): Rejection | undefined {
  const { assetTransferMethod = 'eip3009', name, version } = extra
  if (assetTransferMethod !== 'eip3009') {
    return reject(
      'unsupportedPayloadType',
      `Deposits by ${quote(assetTransferMethod)} are not settled here; expected "eip3009".`,
    )
  }
  if (!name || !version) {
    return reject(
      'batchMissingEip712Domain',
      `extra.name or extra.version is missing; expected "${token.name}" and "${token.version}".`,
    )
  }
  if (name !== token.name) {
    return reject(
      'tokenNameMismatch',
      `extra.name is ${quote(name)}, the token's EIP-712 name is "${token.name}".`,
    )
  }
  if (version === token.version) return undefined
  return reject(
    'tokenVersionMismatch',
    `extra.version is ${quote(version)}, the token's EIP-712 version is "${token.version}".`,
  )
}

function checkChannel({ payer, receiver }: ChannelConfig, terms: Terms): Rejection | undefined {
  return checkParties(payer, receiver, terms)
}

/** Checks token and receiver of each row: gas is spent for channels of the settled asset only. */
function checkRows(rows: readonly ClaimRow[], terms: Terms): Rejection | undefined {
  for (const { voucher } of rows) {
    const { token, receiver } = voucher.channel
    const rejection = checkToken(token, terms) ?? checkReceiver(receiver, terms)
    if (rejection !== undefined) return rejection
  }
  return undefined
}

/** Refuses several rows of one channel: only the highest counts on chain, and each costs gas. */
function checkRepetition(
  { payload }: BatchRequest,
  { terms }: ServedNetwork,
): Rejection | undefined {
  const rows = 'claims' in payload ? payload.claims : []
  const channels = new Set(
    rows.map(({ voucher }) => hashChannel(voucher.channel, terms.token.chainId)),
  )
  if (channels.size === rows.length) return undefined
  return reject('batchRepeatedChannel', reasons.batchRepeatedChannel.meaning)
}

function checkToken(token: Address, terms: Terms): Rejection | undefined {
  if (token === terms.token.address) return undefined
  return reject('batchTokenMismatch', `The token ${token} is not the asset ${terms.token.address}.`)
}

function checkReceiver(receiver: Address, terms: Terms): Rejection | undefined {
  if (isChannelContract(receiver)) {
    return reject('invalidPayTo', `The receiver ${receiver} is a contract of x402.`)
  }
  if (!terms.isPayToBlocked(receiver)) return undefined
  return reject(
    'payToNotAllowed',
    `The operator of this facilitator blocks the recipient ${receiver}.`,
  )
}
