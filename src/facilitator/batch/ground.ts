import type { Address } from 'viem'
import { isChannelContract } from '../../x402/address.js'
import type { BatchRequest } from '../../x402/batch-request.js'
import type { ChannelConfig, ClaimRow } from '../../x402/batch-schemas.js'
import { isNetwork } from '../../x402/networks.js'
import { quote } from '../../x402/parse-request.js'
import { type Rejection, reasons } from '../../x402/reasons.js'
import type { ServedNetwork } from '../judge.js'
import { judgeMinimum, judgeParties, reject, type Terms } from '../ladder.js'
import { hashChannel } from './typed-data.js'

/** One network as it serves `batch-settlement`. */
export interface BatchNetwork {
  served: ServedNetwork
  chainId: number
  relayers: readonly Address[]
  /** Whether the contracts stand on the network. */
  isOffered(): boolean
  /** The newest block seen. */
  headBlock(): number
}

/**
 * What is said about a request before the scheme judges it: scheme, network, contracts, asset, parties, minimum.
 * The network it is for, or a rejection. Throws `TokenMismatchError` when the token has changed.
 */
export function findGround(
  request: BatchRequest,
  networks: ReadonlyMap<string, BatchNetwork>,
): BatchNetwork | Rejection {
  const { network, acceptedScheme, acceptedNetwork } = request
  if (acceptedScheme !== 'batch-settlement') {
    return reject(
      'batchScheme',
      `The payer accepted scheme ${quote(acceptedScheme)}, expected "batch-settlement".`,
    )
  }
  const ground = networks.get(network)
  if (ground === undefined) return unknownNetwork(network, [...networks.keys()])
  if (acceptedNetwork !== network) {
    return reject(
      'batchNetworkMismatch',
      `The payer accepted network ${quote(acceptedNetwork)}, the requirement names ${network}.`,
    )
  }
  if (!ground.isOffered()) {
    return reject(
      'unsupportedScheme',
      `Scheme "batch-settlement" is not settled on ${network}: its contracts have no code there.`,
    )
  }
  const mismatch = ground.served.tokenMismatch()
  if (mismatch !== undefined) throw mismatch
  return judgeTerms(request, ground) ?? judgeRepetition(request, ground) ?? ground
}

/** Asks the budgets of gas about who answers for it, and about all whose code would run. Throws `RpcUnavailableError`. */
export async function guardAccounts(
  { served }: BatchNetwork,
  answerer: Address,
  runners: readonly Address[],
  amount?: bigint,
): Promise<Rejection | undefined> {
  const coded = await served.readCoded(runners)
  const worth = amount === undefined ? {} : { amount }
  for (const account of new Set([answerer, ...coded])) {
    const refusal = await served.guardGas({ account, hasCode: coded.has(account), ...worth })
    if (refusal !== undefined) return refusal
  }
  return undefined
}

export function isRejected(value: BatchNetwork | Rejection): value is Rejection {
  return 'reason' in value
}

function unknownNetwork(network: string, served: string[]): Rejection {
  const what = isNetwork(network) ? 'known but not served here' : 'not supported'
  return reject(
    'invalidNetwork',
    `Network ${quote(network)} is ${what}; served: ${served.join(' and ')}.`,
  )
}

function judgeTerms(request: BatchRequest, { served }: BatchNetwork): Rejection | undefined {
  const { payload, requirements } = request
  const { terms } = served
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
        judgeDomain(extra ?? {}, terms.token) ??
        judgeMinimum(BigInt(payload.deposit.amount), terms) ??
        judgeChannel(payload.channelConfig, terms)
      )
    case 'voucher':
      return judgeChannel(payload.channelConfig, terms)
    case 'refund':
      return (
        judgeChannel(payload.channelConfig, terms) ??
        judgeToken(payload.channelConfig.token, terms) ??
        judgeRows('claims' in payload ? payload.claims : [], terms)
      )
    case 'claim':
      return judgeRows(payload.claims, terms)
    case 'settle':
      return judgeToken(payload.token, terms) ?? judgeReceiver(payload.receiver, terms)
  }
}

function judgeDomain(
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

function judgeChannel({ payer, receiver }: ChannelConfig, terms: Terms): Rejection | undefined {
  return judgeParties(payer, receiver, terms)
}

/** Gas is spent for channels of the settled asset only. */
function judgeRows(rows: readonly ClaimRow[], terms: Terms): Rejection | undefined {
  for (const { voucher } of rows) {
    const { token, receiver } = voucher.channel
    const rejection = judgeToken(token, terms) ?? judgeReceiver(receiver, terms)
    if (rejection !== undefined) return rejection
  }
  return undefined
}

/** Of several rows of one channel only the highest counts on chain, and each costs gas. */
function judgeRepetition(
  { payload }: BatchRequest,
  { chainId }: BatchNetwork,
): Rejection | undefined {
  const rows = 'claims' in payload ? payload.claims : []
  const channels = new Set(rows.map(({ voucher }) => hashChannel(voucher.channel, chainId)))
  if (channels.size === rows.length) return undefined
  return reject('batchRepeatedChannel', reasons.batchRepeatedChannel.meaning)
}

function judgeToken(token: Address, terms: Terms): Rejection | undefined {
  if (token === terms.token.address) return undefined
  return reject('batchTokenMismatch', `The token ${token} is not the asset ${terms.token.address}.`)
}

function judgeReceiver(receiver: Address, terms: Terms): Rejection | undefined {
  if (isChannelContract(receiver)) {
    return reject('invalidPayTo', `The receiver ${receiver} is a contract of x402.`)
  }
  if (!terms.isPayToBlocked(receiver)) return undefined
  return reject(
    'payToNotAllowed',
    `The operator of this facilitator blocks the recipient ${receiver}.`,
  )
}
