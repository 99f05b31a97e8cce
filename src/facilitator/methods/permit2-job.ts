import type { TokenPermit } from '@arcus/protocol/x402/payment'
import { type Rejection, reject } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import {
  encodePermit2Settle,
  findSettlement,
  namePermit2Revert,
  type Permit2Transfer,
  proxyOf,
  transferOfPayment,
} from '../../chain/permit2.js'
import type { Job, NewJob } from '../journal/settlement-journal.js'
import type { JobKind, JobProfile } from '../relayer/jobs.js'
import {
  createExactJob,
  type ExactDetails,
  examine,
  examineUse,
  type PaymentKindOptions,
  PERMIT2,
  paymentKind,
  readExactDetails,
  withoutTransfer,
} from './exact-job.js'
import type { OwnMulticall } from './network.js'

/** A payment by Permit2 as its job stores it: `value` is what moves, `permitted` what the payer signed for. */
interface Permit2Details extends ExactDetails {
  permitted: string
  /** Set for `upto`. */
  facilitator?: Address
  hasPermit?: true
}

/**
 * The gas of a settlement alone, and what a permit adds; units of gas. On the local chain a first payment to a new account
 * takes 111,000 and a permit 31,000, and a third is added: Circle's token behind its proxy takes more than our mock, 116,000
 * and 29,000 as measured. A test compares.
 */
const SETTLE_GAS = 148_000n
const PERMIT_GAS = 42_000n
/** A settlement that fails burns 54,500 without the base of its transaction, because it fails before balances are written. */
const FAILED_GAS = 60_000

/** Returns the key of a job: Permit2 accepts each payer's nonce once. */
export function permit2Key(payer: Address, nonce: Hex): string {
  return `${payer}/${nonce}`
}

export function permit2Gas(hasPermit: boolean): bigint {
  return hasPermit ? SETTLE_GAS + PERMIT_GAS : SETTLE_GAS
}

/** Makes the job that brings a payment on chain, with the permit of the token if it is needed. */
export function createPermit2Job(
  options: Parameters<typeof createExactJob>[0] & {
    payment: Parameters<typeof transferOfPayment>[0]
    permit: TokenPermit | undefined
  },
): NewJob {
  const { payment, signature, permit } = options
  const transfer = transferOfPayment(payment)
  const job = createExactJob(options)
  const { facilitator } = transfer
  const details: Permit2Details = {
    ...readExactDetails(job),
    value: transfer.value.toString(),
    permitted: transfer.permitted.toString(),
    ...(facilitator && { facilitator }),
    ...(permit && { hasPermit: true }),
  }
  return {
    ...job,
    kind: PERMIT2,
    key: permit2Key(transfer.payer, transfer.nonce),
    to: proxyOf(transfer),
    calldata: encodePermit2Settle(transfer, signature, permit),
    details: JSON.stringify(details),
  }
}

export function readPermit2Details(job: Pick<Job, 'details'>): Permit2Details {
  return readExactDetails(job) as Permit2Details
}

function expectedTransfer(job: Job): Permit2Transfer {
  const details = readPermit2Details(job)
  const { asset, payer, payTo, nonce, facilitator } = details
  return {
    asset,
    payer,
    payTo,
    nonce,
    facilitator,
    value: BigInt(details.value),
    permitted: BigInt(details.permitted),
    deadline: BigInt(details.validBefore) - 1n,
    validAfter: BigInt(details.validAfter),
  }
}

interface Permit2KindOptions extends PaymentKindOptions<Permit2Transfer> {
  /** The multicall of the relayers, whether or not it is deployed. */
  multicall: OwnMulticall
}

/** Makes the handler of payments by Permit2 for the relayer. */
export function createPermit2Kind(options: Permit2KindOptions): JobKind {
  const common = paymentKind(options.attestor)
  return {
    ...common,
    profile(job) {
      const { facilitator, hasPermit } = readPermit2Details(job)
      return {
        ...common.profile(job),
        ...wayOf(facilitator, options.multicall),
        expectedGas: permit2Gas(hasPermit === true),
        failedGas: FAILED_GAS + (hasPermit ? Number(PERMIT_GAS) : 0),
      }
    },
    findSettled(job, { logs }) {
      const transferLog = findSettlement(logs, expectedTransfer(job), job.calldata)?.transferLog
      return transferLog === undefined ? undefined : { transferLog }
    },
    rejectionOf: (job, revert) =>
      rejectionOfPermit2Revert(revert, readPermit2Details(job).hasPermit === true),
    async examine(job, atLeastBlock, receipt) {
      const expected = expectedTransfer(job)
      // The call took effect, so the nonce is used: a token that takes a fee moved another amount.
      if (receipt && findSettlement(receipt.logs, expected, job.calldata) !== undefined) {
        return withoutTransfer(receipt.transactionHash)
      }
      return examine(expected, options, job, atLeastBlock, {
        decide: (use) => examineUse(use, job, options.isOurs, receipt),
        checkMore({ allowance }) {
          const { hasPermit, value, payer } = readPermit2Details(job)
          return hasPermit ? undefined : checkAllowance(BigInt(value), allowance, payer)
        },
      })
    },
  }
}

/**
 * Returns who makes the call. The logs of a proxy name no payment, so they are about this one in a transaction of its own,
 * and in one of the relayers' multicall, which names its calls.
 */
function wayOf(
  facilitator: Address | undefined,
  { address, wallets }: OwnMulticall,
): Pick<JobProfile, 'isSingle' | 'senders' | 'through'> {
  if (facilitator === address) return { through: address, senders: wallets }
  return { isSingle: true, ...(facilitator && { senders: [facilitator] }) }
}

/** Checks that Permit2 may take what the payment moves. */
export function checkAllowance(
  moved: bigint,
  allowance: bigint,
  payer: Address,
): Rejection | undefined {
  if (allowance >= moved) return undefined
  return reject(
    'permit2AllowanceRequired',
    `The payer ${payer} lets Permit2 take ${allowance} of the token, the payment needs ${moved}: the payer must approve Permit2, or sign a permit (eip2612GasSponsoring).`,
  )
}

/** The errors of the proxies, Permit2 and tokens; the first match counts. */
const causes: readonly [RegExp, Rejection['reason']][] = [
  [/InvalidNonce/, 'nonceAlreadyUsed'],
  [/SignatureExpired/, 'validBefore'],
  [/PaymentTooEarly/, 'validAfter'],
  [/InvalidSigner|InvalidSignature|InvalidContractSignature/, 'signature'],
  [/paused/i, 'assetPaused'],
]

/** Returns the rejection for a revert of a settlement. Its message quotes the revert text, without URLs of nodes. */
export function rejectionOfPermit2Revert(revert: string, hasPermit: boolean): Rejection {
  const named = namePermit2Revert(revert)
  const text = JSON.stringify(named.replace(/https?:\/\/\S+/g, '…'))
  if (hasPermit && /TRANSFER_FROM_FAILED|allowance/i.test(named)) {
    return reject(
      'permit2AllowanceRequired',
      `The token did not accept the permit (eip2612GasSponsoring), so Permit2 may not take the amount: ${text}.`,
    )
  }
  const reason = causes.find(([wording]) => wording.test(named))?.[1] ?? 'simulationFailed'
  return reject(reason, `The simulated settlement by Permit2 reverted: ${text}.`)
}
