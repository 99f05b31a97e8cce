import { type PaymentAnswer, paidResourceOf } from '@arcus/protocol/x402/payment'
import { type Address, getAddress, type Hex } from 'viem'
import { toHanded } from '../../../src/app/directory/answer-queue.js'
import type { Stores } from '../../../src/app/stores/stores.js'
import type { Token } from '../../../src/chain/token.js'
import type { Directory } from '../../../src/directory/directory.js'
import { createPaymentFinder } from '../../../src/facilitator/lookup/payments.js'
import {
  EXACT,
  type ExactDetails,
  exactKey,
  PERMIT2,
  writeResource,
} from '../../../src/facilitator/methods/exact-job.js'
import { permit2Key } from '../../../src/facilitator/methods/permit2-job.js'

/** The payer and the recipient of a payment, unless wished otherwise. */
export const payer: Address = '0x4444444444444444444444444444444444444444'
export const payTo: Address = '0x3333333333333333333333333333333333333333'

/** What the facilitator answered about a payment: by default it settled a cent. Addresses are in lower case. */
export interface PaymentWish extends Partial<Omit<PaymentAnswer, 'payment'>> {
  payer?: Address
  payTo?: Address
  asset?: Address
  amount?: bigint
  network?: string
  resourceUrl?: string | undefined
  toolName?: string
  /** `null` for a call that is paid through a channel. */
  nonce?: Hex | null
  scheme?: 'exact' | 'upto'
  /** The nonce of the payment that it gives back. */
  refunds?: Hex | undefined
}

let count = 0
let transfers = 0

const hashOf = (id: number): Hex => `0x${id.toString(16).padStart(64, '0')}`

/** The payments of the facilitator: rows of the journal, and the answers that the directory hears. */
export function createPayments(world: {
  stores: Pick<Stores, 'journal'>
  tokens: readonly Token[]
  clock: { ms: number }
}) {
  const { stores, tokens, clock } = world
  const { network } = tokens[0] as Token
  const accepted = new Map(tokens.map((token) => [token.address, { ...token, minAmount: 1n }]))
  const finder = createPaymentFinder({
    now: Date.now,
    journal: stores.journal,
    terms: new Map([[network, { tokens: accepted }]]),
    explorerUrls: new Map(),
    checksum: getAddress,
  })

  function toAnswer(wish: PaymentWish, id: number): PaymentAnswer {
    const { kind = 'settle', state = kind === 'settle' ? 'settled' : 'valid' } = wish
    const { nonce = hashOf(id), toolName, refunds } = wish
    const isRow = kind === 'settle' && wish.settlementId !== null
    const proof = nonce === null ? {} : { nonce, proof: nonce }
    return {
      kind,
      state,
      at: wish.at ?? clock.ms,
      latencyMs: wish.latencyMs ?? 540,
      reason: wish.reason ?? null,
      gasCost: wish.gasCost ?? 2_000_000_000_000_000n,
      transaction: wish.transaction ?? (state === 'settled' ? hashOf(id) : null),
      settlementId: isRow ? (wish.settlementId ?? `settlement-${id}`) : null,
      payment: {
        network: wish.network ?? network,
        asset: wish.asset ?? (tokens[0]?.address as Hex),
        payTo: wish.payTo ?? payTo,
        payer: wish.payer ?? payer,
        amount: wish.amount ?? 10_000n,
        ...proof,
        ...('resourceUrl' in wish
          ? wish.resourceUrl !== undefined && { resourceUrl: wish.resourceUrl }
          : { resourceUrl: 'https://api.example.com/weather' }),
        ...(toolName !== undefined && { toolName }),
        ...(refunds !== undefined && { refunded: { nonce: refunds, method: 'eip3009' } }),
      },
    }
  }

  /** Puts the row of an answer into the journal, decided as the answer says. */
  async function keepRow({ payment, ...answer }: PaymentAnswer, scheme: 'exact' | 'upto') {
    const { asset, payer, payTo, amount, nonce, resourceUrl, toolName } = payment
    const { settlementId: id, at, transaction } = answer
    if (id === null || nonce === undefined || answer.state === 'free') return
    const details: ExactDetails & { facilitator?: Address } = {
      asset,
      payer,
      payTo,
      value: amount.toString(),
      nonce,
      signatureDigest: '',
      validAfter: '0',
      validBefore: '1900000000',
      isAlone: true,
      claimedAt: at,
      caller: '',
      standing: 'none',
      ...(scheme === 'upto' && { facilitator: payer }),
    }
    const resource = writeResource(paidResourceOf({ resourceUrl, toolName }))
    const key =
      scheme === 'upto'
        ? { kind: PERMIT2, key: permit2Key(payer, nonce) }
        : { kind: EXACT, key: exactKey(asset, payer, nonce) }
    const claim = await stores.journal.claim(
      {
        id,
        ...key,
        network: payment.network,
        digest: nonce,
        to: asset,
        calldata: '0x',
        details: JSON.stringify(details),
        resource,
        seenBlock: 1,
        expiresAt: 1_900_000_000,
      },
      undefined,
      at,
    )
    if (claim.state !== 'claimed') throw new Error(`the payment is ${claim.state}`)
    if (answer.state === 'pending') return
    const isSettled = answer.state === 'settled'
    const outcome = {
      state: isSettled ? ('confirmed' as const) : ('failed' as const),
      transaction,
      reason: answer.reason,
      message: null,
      gasCost: answer.gasCost,
      blockNumber: isSettled ? 7 : null,
      ...(isSettled && { transferLog: ++transfers }),
    }
    await stores.journal.resolve({ outcomes: [{ id, round: 0, outcome }], now: at + 1 })
  }

  return {
    find: finder.recordOf,
    findRefunds: finder.findRefunds,
    /** Makes payments as the facilitator does, and waits until their activity is kept. Resolves with their nonces. */
    through({ ports }: Directory) {
      return async (...wishes: PaymentWish[]): Promise<Hex[]> => {
        const answers = wishes.map((wish) => toAnswer(wish, ++count))
        await Promise.all(answers.map((it, i) => keepRow(it, wishes[i]?.scheme ?? 'exact')))
        await ports.keepAnswers(answers.map(toHanded))
        return answers.map(({ payment }) => payment.nonce ?? '0x')
      }
    },
  }
}
