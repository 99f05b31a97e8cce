import { randomUUID } from 'node:crypto'
import type { FacilitatorClient } from '@x402/core/server'
import type { ClientEvmSigner } from '@x402/evm'
import { addressProblem } from '../x402/address.js'
import { createFacilitatorClient } from './facilitator.js'
import { CLOCK_SECONDS, createOneRefund } from './one-refund.js'
import { openRefundLedger, type Refund, type RefundLedger } from './refund-ledger.js'
import {
  proofOf,
  type RefundTransfer,
  refundNonce,
  transferOf,
  transferRefund,
} from './refund-transfer.js'

export interface RefundsOptions {
  /** Base URL of the facilitator that brings the refunds, or a client of your own. */
  facilitator: string | FacilitatorClient
  /** The account the money comes from, as of `privateKeyToAccount`: it signs, and needs no gas. */
  signer: ClientEvmSigner
  /** Who is paid, where that is another than `signer`; then `signer` needs money of its own. */
  payTo?: string
  /** Path of the ledger, a file that is made when it is missing, with its folder. One process at a time. */
  path?: string
  /** In place of `path`: a ledger of your own. */
  ledger?: RefundLedger
  /** How often what has not landed is tried again. Default 30. */
  retrySeconds?: number
  /**
   * Whether a payment was settled, asked about payments of which the answer was lost. Default: what Arcus tells at
   * `/payments`; needed where `facilitator` is a client of your own.
   */
  wasSettled?: (refund: Refund) => Promise<boolean | undefined>
  /**
   * The transaction in which a refund landed, asked when the facilitator calls its authorization used; `undefined` where
   * there is no proof that this very amount went to this buyer. Default: what Arcus tells at `/payments`. Where nobody
   * can tell, such a refund stays pending.
   */
  findTransfer?: (transfer: RefundTransfer) => Promise<string | undefined>
  log?: { info(details: object, text: string): void; error(details: object, text: string): void }
}

export type NewRefund = Omit<Refund, 'id' | 'state' | 'validBefore'>

export interface Refunds {
  /** Whom the money comes from. */
  readonly address: string
  /** Whose payments it gives back of. */
  readonly payTo: string
  /** Keeps what is to be given back before the payment is settled. Rejects when it cannot be kept. */
  plan(refund: NewRefund): Promise<PlannedRefund>
  /** Whether another call has planned for the same payment. */
  isKnown(payment: NewRefund): boolean
  /** What has not landed. */
  pending(): Refund[]
  /** Tries all that is due now; also runs by itself. */
  run(): Promise<void>
  /** Ends when nothing is under way; what has not landed is tried again after the next start. */
  close(): Promise<void>
}

export interface PlannedRefund {
  /**
   * The payment was settled: the money goes back. Resolves to how much: what an earlier call with the same payment left
   * over, where that is on its way already.
   */
  confirm(): Promise<string>
  /** It was not, and will not be. */
  drop(): Promise<void>
  /** Nobody knows; it is found out later. */
  leave(): void
}

const DEFAULT_RETRY_SECONDS = 30
const FACILITATOR_TIMEOUT_MS = 90_000
/** A transfer stays the same for so long, and identical tries are one to the facilitator. */
const TRANSFER_LIFETIME_SECONDS = 7 * 86_400
const RENEW_SECONDS = 600
/** Refunds on their way together; Arcus brings them in one transaction. */
const MAX_AT_ONCE = 20

/** Gives back what metered calls did not use: kept on disk, and tried until it lands. */
export async function createRefunds(options: RefundsOptions): Promise<Refunds> {
  const { signer, payTo = signer.address, log } = options
  const problem = addressProblem(payTo)
  if (problem !== undefined) throw new Error(`x402: payTo of refunds ${problem}, got "${payTo}".`)
  const facilitator =
    typeof options.facilitator === 'string'
      ? createFacilitatorClient(options.facilitator, FACILITATOR_TIMEOUT_MS)
      : options.facilitator
  const wasSettled = options.wasSettled ?? askArcus(options.facilitator)
  const findTransfer = options.findTransfer ?? findByArcus(options.facilitator)
  const ledger = options.ledger ?? (await openRefundLedger(pathOf(options)))
  const oneRefund = createOneRefund()
  for (const refund of ledger.pending()) if (refund.state === 'due') oneRefund.take(refund)
  let running: Promise<void> | undefined
  let isAskedAgain = false

  async function bring(refund: Refund): Promise<void> {
    const fresh = refund.validBefore < now() + RENEW_SECONDS ? renew(refund) : refund
    if (fresh !== refund) await ledger.write(fresh)
    const outcome = await transferRefund(fresh, signer, facilitator)
    const { id, payer, amount } = fresh
    const isUsed = outcome.state === 'used'
    const found = isUsed ? await findTransfer(transferOf(fresh, signer.address)) : undefined
    const transaction = outcome.state === 'landed' ? outcome.transaction : found
    if (transaction === undefined) {
      const reason = outcome.state === 'landed' ? undefined : outcome.reason
      log?.error({ refund: id, payer, amount, reason }, 'x402: refund not landed yet')
      return
    }
    await ledger.write({ ...fresh, state: 'landed', transaction })
    log?.info({ refund: id, payer, amount, transaction }, 'x402: refund landed')
  }

  /** What became of a payment whose request did not live to see it. */
  async function findOut(refund: Refund): Promise<void> {
    const isSettled = await wasSettled(refund)
    // The buyer has presented it again meanwhile: what that call uses counts.
    if (oneRefund.isOpen(refund)) return
    if (isSettled === true) return void (await makeDue(refund))
    if (isSettled === false && refund.paymentValidBefore + CLOCK_SECONDS < now())
      return settle(refund, 'dropped')
  }

  async function settle(refund: Refund, state: 'due' | 'dropped'): Promise<void> {
    await ledger.write({ ...refund, state })
  }

  /** How much goes back of the payment: by this refund, or by one that was taken before. */
  async function makeDue(refund: Refund): Promise<string> {
    const standing = oneRefund.take(refund)
    const isDue = standing.id === refund.id && refund.amount !== '0'
    await settle(refund, isDue ? 'due' : 'dropped')
    return standing.amount
  }

  async function tryOne(refund: Refund): Promise<void> {
    const work = refund.state === 'due' ? bring(refund) : findOut(refund)
    await work.catch((err) => log?.error({ err, refund: refund.id }, 'x402: refund failed'))
  }

  async function runOnce(): Promise<void> {
    await ledger.refresh?.().catch((err) => log?.error({ err }, 'x402: refunds could not be read'))
    oneRefund.prune(now())
    const waiting = ledger.pending().filter((it) => it.state === 'due' || !oneRefund.isOpen(it))
    while (waiting.length > 0) await Promise.all(waiting.splice(0, MAX_AT_ONCE).map(tryOne))
  }

  async function run(): Promise<void> {
    isAskedAgain = true
    running ??= (async () => {
      while (isAskedAgain) {
        isAskedAgain = false
        await runOnce()
      }
      running = undefined
    })()
    return running
  }

  const timer = setInterval(run, (options.retrySeconds ?? DEFAULT_RETRY_SECONDS) * 1000).unref()
  void run()

  return {
    address: signer.address,
    payTo,
    async plan(wanted) {
      const refund = renew({ ...wanted, id: randomUUID(), state: 'planned', validBefore: 0 })
      oneRefund.open(refund)
      const end = () => oneRefund.close(refund)
      await ledger.write(refund).catch((error) => {
        end()
        throw error
      })
      return {
        async confirm() {
          const amount = await makeDue(refund).finally(end)
          void run()
          return amount
        },
        drop: () => settle(refund, 'dropped').finally(end),
        leave: end,
      }
    },
    isKnown(payment) {
      if (oneRefund.isTaken(payment)) return true
      const nonce = refundNonce(payment)
      return ledger.pending().some((it) => refundNonce(it) === nonce)
    },
    pending: ledger.pending,
    run,
    async close() {
      clearInterval(timer)
      await running
      await ledger.close()
    },
  }
}

function renew(refund: Refund): Refund {
  return { ...refund, validBefore: now() + TRANSFER_LIFETIME_SECONDS }
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}

function pathOf({ path }: RefundsOptions): string {
  if (typeof path === 'string' && path !== '') return path
  throw new Error('x402: refunds need path, the file of their ledger.')
}

/** `undefined` where nobody can tell. */
function askArcus(facilitator: string | FacilitatorClient) {
  return async ({ network, payer, paymentNonce }: Refund): Promise<boolean | undefined> => {
    const found = await lookUp(facilitator, [network, payer, paymentNonce])
    if (found === undefined) return undefined
    if (found.status === 404 && found.body.error === 'not_found') return false
    if (!found.isOk) return undefined
    if (found.body.state === 'confirmed') return true
    return found.body.state === 'failed' ? false : undefined
  }
}

function findByArcus(facilitator: string | FacilitatorClient) {
  return async (transfer: RefundTransfer): Promise<string | undefined> => {
    const { network, from, nonce } = transfer
    const found = await lookUp(facilitator, [network, from, nonce])
    return found?.isOk ? proofOf(transfer, found.body) : undefined
  }
}

async function lookUp(facilitator: string | FacilitatorClient, place: readonly string[]) {
  if (typeof facilitator !== 'string') return undefined
  const base = facilitator.replace(/\/+$/, '')
  const response = await fetch(`${base}/payments/${place.join('/')}`, {
    signal: AbortSignal.timeout(FACILITATOR_TIMEOUT_MS),
  })
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null
  return { status: response.status, isOk: response.ok, body: body ?? {} }
}
