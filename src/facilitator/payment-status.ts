import type { Address, Hex } from 'viem'
import type { PaymentStatus } from '../api/payments.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import { formatNative } from '../x402/amounts.js'
import { reasons } from '../x402/reasons.js'
import { isReasonKey } from './answers.js'
import { EXACT, exactKey, readExactDetails } from './exact-job.js'
import type { Terms } from './ladder.js'

export interface PaymentFinder {
  byNonce(network: string, payer: Address, nonce: Hex): Promise<PaymentStatus | undefined>
  /** All payments of a batch, in its order; one that landed elsewhere after all names where. */
  byTransaction(transaction: Hex): Promise<PaymentStatus[]>
}

export function createPaymentFinder(options: {
  journal: Pick<SettlementJournal, 'findJob' | 'findByTransaction'>
  terms: ReadonlyMap<string, Terms>
  /** By network; none where nobody can look into the chain from outside. */
  explorerUrls: ReadonlyMap<string, string | undefined>
  checksum: (address: Address) => Address
}): PaymentFinder {
  const { journal, terms, explorerUrls, checksum } = options
  const tell = (job: Job) => describe(job, explorerUrls.get(job.network), checksum)
  return {
    async byNonce(network, payer, nonce) {
      const asset = terms.get(network)?.token.address
      if (asset === undefined) return undefined
      const job = await journal.findJob(EXACT, network, exactKey(asset, payer, nonce))
      return job && tell(job)
    },
    async byTransaction(transaction) {
      const jobs = await journal.findByTransaction(transaction)
      return jobs.filter(({ kind }) => kind === EXACT).map(tell)
    },
  }
}

function describe(
  job: Job,
  explorer: string | undefined,
  checksum: (address: Address) => Address,
): PaymentStatus {
  const details = readExactDetails(job)
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
