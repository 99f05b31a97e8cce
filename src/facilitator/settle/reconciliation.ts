import { randomUUID } from 'node:crypto'
import { type Address, bytesToHex } from 'viem'
import type { BlockRange } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { readSentPayments, type SentPayment } from '../../chain/sent-payments.js'
import type { Token } from '../../chain/token.js'
import type { RebuiltJob, RebuiltJobs } from '../journal/rebuilt-jobs.js'
import type { Job, SettlementJournal } from '../journal/settlement-journal.js'
import { createExactJob } from '../methods/exact-job.js'
import type { PaymentDigest } from '../methods/payment-method.js'
import { createPermit2Job } from '../methods/permit2-job.js'
import { confirmation, createGasShares } from '../relayer/outcomes.js'

/** The row of the journal about a payment that the chain shows as paid by one of our wallets. */
export type RowState =
  /** It says the same. */
  | 'same'
  | 'missing'
  /** It says that the payment failed. */
  | 'failed'
  /** It is queued or submitted: the service decides it. */
  | 'open'
  /** It names another transaction or block, or the transfer of the payment backs another row. */
  | 'differs'

export interface ComparedPayment {
  state: RowState
  /** As the chain shows it. */
  paid: RebuiltJob
  /** As the journal had it. */
  row: Job | undefined
  /** True once the row was changed to say what the chain shows. */
  isWritten: boolean
}

/** The blocks of one step: some four minutes on Arc, and few enough logs for one answer of a node. */
export const STEP_BLOCKS = 500
/** The rows of one commit: a running service waits for it. */
const ROWS_AT_ONCE = 100

/**
 * Compares the journal with the payments that our wallets brought on chain in a range of blocks, the oldest first. Without
 * `rebuilt` nothing is written. With it, missing rows are inserted and failed ones corrected. No other row changes. Doing the
 * same again changes nothing. Rejects with `RpcUnavailableError` and `RpcResponseError`.
 */
type Reconcile = (range: BlockRange) => Promise<ComparedPayment[]>

export function createReconciliation(options: {
  rpc: Rpc
  tokens: readonly Token[]
  /** In lower case. */
  wallets: ReadonlySet<Address>
  journal: Pick<SettlementJournal, 'findJob'>
  rebuilt: RebuiltJobs | undefined
  computeDigest: PaymentDigest
  /** Unix milliseconds. */
  now: () => number
}): Reconcile {
  const { rpc, tokens, wallets, journal, rebuilt, computeDigest, now } = options

  return async (range) => {
    const compared: ComparedPayment[] = []
    const assets = tokens.map(({ address }) => address)
    const sent = await readSentPayments(rpc, assets, wallets, range)
    for (let i = 0; i < sent.length; i += ROWS_AT_ONCE) {
      const part = await Promise.all(sent.slice(i, i + ROWS_AT_ONCE).map(compare))
      if (rebuilt !== undefined) await write(part, rebuilt)
      compared.push(...part)
    }
    return compared
  }

  async function compare(sent: SentPayment): Promise<ComparedPayment> {
    const token = tokens.find(({ address }) => address === sent.payment.asset) as Token
    const paid = toRebuiltJob(sent, token)
    const row = await findRow(paid)
    return { state: stateOf(row, paid), paid, row, isWritten: false }
  }

  function findRow({ job }: RebuiltJob): Promise<Job | undefined> {
    return journal.findJob(job.kind, job.network, job.key)
  }

  function toRebuiltJob(sent: SentPayment, token: Token): RebuiltJob {
    const { payment, signature, permit, receipt, transferLog, minedAt, position, calls } = sent
    const share = createGasShares(receipt, calls)
    const options = {
      id: randomUUID(),
      payment: { ...payment, network: token.network },
      digest: bytesToHex(computeDigest(payment, token)),
      signature,
      isAlone: calls === 1,
      seenBlock: receipt.blockNumber - 1,
      claimedAt: minedAt * 1000,
    }
    const isByPermit2 = payment.permit2 !== undefined
    const job = isByPermit2 ? createPermit2Job({ ...options, permit }) : createExactJob(options)
    const outcome = confirmation(receipt, { transferLog }, share(position))
    return {
      job,
      outcome: { ...outcome, state: 'confirmed', transferLog },
      minedAt: minedAt * 1000,
    }
  }

  async function write(part: ComparedPayment[], rebuilt: RebuiltJobs): Promise<void> {
    const missing = part.filter(({ state }) => state === 'missing')
    if (missing.length > 0) {
      await rebuilt.add(
        missing.map(({ paid }) => paid),
        now(),
      )
    }
    for (const payment of missing) await readAgain(payment)
    for (const payment of part) {
      if (payment.state !== 'failed' || payment.row === undefined) continue
      await rebuilt.mend(payment.row, payment.paid, now())
      await readAgain(payment)
    }
  }

  /** Reads what became of a row: its transfer may back another one, or a running service was first. */
  async function readAgain(payment: ComparedPayment): Promise<void> {
    const row = await findRow(payment.paid)
    payment.isWritten = stateOf(row, payment.paid) === 'same'
    if (!payment.isWritten) payment.state = 'differs'
  }
}

function stateOf(row: Job | undefined, { outcome }: RebuiltJob): RowState {
  if (row === undefined) return 'missing'
  if (row.state === 'failed') return 'failed'
  if (row.state !== 'confirmed') return 'open'
  const isSame = row.transaction === outcome.transaction && row.blockNumber === outcome.blockNumber
  return isSame ? 'same' : 'differs'
}
