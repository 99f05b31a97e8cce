import type { Address, Hex } from 'viem'
import type { Job, JobState, SettlementJournal } from '../store/settlement-journal.js'
import { formatNative } from '../x402/amounts.js'
import { isNetwork, networks } from '../x402/networks.js'
import { reasons } from '../x402/reasons.js'
import { isReasonKey } from './answers.js'
import { EXACT, exactKey, readExactDetails } from './exact-job.js'
import type { Terms } from './ladder.js'

/** What anybody who knows its nonce may learn of a payment. Times ISO 8601, amounts in 6-decimal units. */
export interface PaymentStatus {
  network: string
  asset: Address
  payer: Address
  payTo: Address
  nonce: Hex
  amount: string
  /** `queued` accepted, `submitted` sent, `confirmed` on chain, `failed` not settled and not on chain. */
  state: JobState
  transaction: Hex | null
  explorerUrl: string | null
  blockNumber: number | null
  errorReason: string | null
  errorMessage: string | null
  /** Whether a caller of settle was told of success. */
  delivered: boolean
  createdAt: string
  updatedAt: string
  validAfter: string
  validBefore: string
  /** This payment's share of the gas, in dollars. */
  gasUsd: string | null
}

export type FindPayment = (
  network: string,
  payer: Address,
  nonce: Hex,
) => Promise<PaymentStatus | undefined>

export function createPaymentFinder(options: {
  journal: SettlementJournal
  terms: ReadonlyMap<string, Terms>
  checksum: (address: Address) => Address
}): FindPayment {
  const { journal, terms, checksum } = options
  return async (network, payer, nonce) => {
    const asset = terms.get(network)?.token.address
    if (asset === undefined) return undefined
    const job = await journal.findJob(EXACT, network, exactKey(asset, payer, nonce))
    return job && describe(job, checksum)
  }
}

function describe(job: Job, checksum: (address: Address) => Address): PaymentStatus {
  const details = readExactDetails(job)
  const explorer = isNetwork(job.network) ? networks[job.network].explorerUrl : undefined
  return {
    network: job.network,
    asset: checksum(details.asset),
    payer: checksum(details.payer),
    payTo: checksum(details.payTo),
    nonce: details.nonce,
    amount: details.value,
    state: job.state,
    transaction: job.transaction,
    explorerUrl: explorer && job.transaction ? `${explorer}/tx/${job.transaction}` : null,
    blockNumber: job.blockNumber,
    errorReason: isReasonKey(job.reason) ? reasons[job.reason].code : null,
    errorMessage: job.message,
    delivered: job.deliveredAt !== null,
    createdAt: new Date(job.createdAt).toISOString(),
    updatedAt: new Date(job.updatedAt).toISOString(),
    validAfter: details.validAfter,
    validBefore: details.validBefore,
    gasUsd: job.gasCost === null ? null : formatNative(job.gasCost),
  }
}
