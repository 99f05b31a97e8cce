import { randomUUID } from 'node:crypto'
import { type Address, bytesToHex } from 'viem'
import type { BlockRange } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import { readSentPayments, type SentPayment } from '../chain/sent-payments.js'
import type { Token } from '../chain/token.js'
import { confirmation, createGasShares } from '../relayer/outcomes.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import type { RebuiltJob, RebuiltJobs } from '../store/sql/rebuilt-jobs.js'
import type { AuthorizationDigest } from '../x402/authorization-digest.js'
import { createExactJob } from './exact-job.js'

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
/** The rows of one commit: a service that runs beside waits for it. */
const ROWS_AT_ONCE = 100

/**
 * Compares the journal with the payments that our wallets brought on chain in a range of blocks, token by token, the oldest first. Without
 * `rebuilt` nothing is written. With it, missing rows are inserted and failed ones mended. No other row changes. Doing the
 * same again changes nothing. Rejects with `RpcUnavailableError` and `RpcResponseError`.
 */
export type Reconcile = (range: BlockRange) => Promise<ComparedPayment[]>

export function createReconciliation(options: {
  rpc: Rpc
  tokens: readonly Token[]
  /** In lower case. */
  wallets: ReadonlySet<Address>
  journal: Pick<SettlementJournal, 'findJob'>
  rebuilt: RebuiltJobs | undefined
  computeDigest: AuthorizationDigest
  /** Unix milliseconds. */
  now: () => number
}): Reconcile {
  const { rpc, tokens, wallets, journal, rebuilt, computeDigest, now } = options

  return async (range) => {
    const compared: ComparedPayment[] = []
    for (const token of tokens) {
      const sent = await readSentPayments(rpc, token.address, wallets, range)
      for (let i = 0; i < sent.length; i += ROWS_AT_ONCE) {
        const next = sent.slice(i, i + ROWS_AT_ONCE)
        const part = await Promise.all(next.map((payment) => compare(payment, token)))
        if (rebuilt !== undefined) await write(part, rebuilt)
        compared.push(...part)
      }
    }
    return compared
  }

  async function compare(payment: SentPayment, token: Token): Promise<ComparedPayment> {
    const paid = toRebuiltJob(payment, token)
    const row = await findRow(paid)
    return { state: stateOf(row, paid), paid, row, isWritten: false }
  }

  function findRow({ job }: RebuiltJob): Promise<Job | undefined> {
    return journal.findJob(job.kind, job.network, job.key)
  }

  function toRebuiltJob(payment: SentPayment, token: Token): RebuiltJob {
    const { authorization, signature, receipt, transferLog, minedAt, position, calls } = payment
    const share = createGasShares(receipt, calls)
    const job = createExactJob({
      id: randomUUID(),
      payment: {
        network: token.network,
        asset: token.address,
        payTo: authorization.to,
        authorization,
      },
      digest: bytesToHex(computeDigest(token.domainSeparator, authorization)),
      signature,
      isAlone: calls === 1,
      seenBlock: receipt.blockNumber - 1,
      claimedAt: minedAt * 1000,
    })
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
