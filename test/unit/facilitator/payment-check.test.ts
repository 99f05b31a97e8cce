import type { Payment } from '@arcus/protocol/x402/payment'
import { bytesToHex, type Hex, serializeErc6492Signature } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { selectors } from '../../../src/chain/abi.js'
import type { AuthorizationUse } from '../../../src/chain/authorization-uses.js'
import type { PaymentFacts } from '../../../src/chain/payment-facts.js'
import type { Receipt } from '../../../src/chain/receipts.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { loadSignerRecovery } from '../../../src/chain/signer-recovery.js'
import { devnetContracts } from '../../../src/devnet/fixtures.js'
import type { Job, SettlementJournal } from '../../../src/facilitator/journal/settlement-journal.js'
import { digestOfSignature } from '../../../src/facilitator/schemes/exact-job.js'
import { createPaymentDigest } from '../../../src/facilitator/schemes/payment-method.js'
import {
  createPaymentCheck,
  type ServedNetwork,
} from '../../../src/facilitator/verify/payment-check.js'
import { aPayment, network, nowSeconds, payTo, signPayment } from '../x402/a-payment.js'
import { aNetwork, aTerms, aToken, keccak256 } from './a-network.js'

const SEEN_BLOCK = 40
const CLAIMED_AT = nowSeconds - 5
const transaction = `0x${'aa'.repeat(32)}` as const
const recovery = await loadSignerRecovery(keccak256)
const computeDigest = createPaymentDigest(keccak256)

let payment: Payment
let digest: Hex
beforeAll(async () => {
  payment = aPayment()
  payment = { ...payment, signature: await signPayment(payment) }
  digest = bytesToHex(computeDigest(payment, aToken()))
})

interface Case {
  facts?: Partial<PaymentFacts>
  use?: AuthorizationUse
  row?: Partial<Job>
  served?: Partial<ServedNetwork>
}

/** What is known of the payment on a network with these facts, this use of its nonce and this row in the journal. */
function check(about: Case = {}, asked: Payment = payment) {
  const { facts = {}, use, row, served = {} } = about
  const searched: number[] = []
  const signatureDigest = digestOfSignature(payment.signature)
  const details = JSON.stringify({ signatureDigest, claimedAt: CLAIMED_AT * 1_000 })
  const job = row && ({ details, key: '', ...row } as Job)
  const isUsed = use === undefined ? {} : { isNonceUsed: true }
  const checkPayment = createPaymentCheck({
    served: new Map([
      [
        network,
        {
          ...aNetwork(() => ({ blockNumber: 50, ...isUsed, ...facts })),
          async findUse(_expected, afterBlock) {
            searched.push(afterBlock)
            if (use === undefined) throw new Error('nobody asks for a use')
            return use
          },
          ...served,
        } satisfies ServedNetwork,
      ],
    ]),
    journal: {
      findJob: async () => job,
      findByTransaction: async () => [],
    } as unknown as SettlementJournal,
    computeDigest,
    recovery,
    now: () => nowSeconds * 1_000,
  })
  return {
    result: checkPayment(asked, { isSettle: false, marginSeconds: 6, maxAgeMs: 0 }),
    searched,
  }
}

const rejected = (reason: string) => ({ state: 'rejected', rejection: { reason } })

function paidIn(blockNumber: number, minedAt = CLAIMED_AT): AuthorizationUse {
  const receipt = { transactionHash: transaction, blockNumber } as Receipt
  return { state: 'paid', receipt, transferLog: 3, minedAt }
}

describe('a payment that nobody has seen', () => {
  it('is valid when signature and chain have nothing against it', async () => {
    expect(await check().result).toMatchObject({
      state: 'valid',
      intent: { digest, signature: payment.signature, isAlone: false, seenBlock: 50 },
    })
  })

  it('counts from the newest block that was seen by anybody', async () => {
    const { result } = check({ served: { headBlock: () => 55 } })
    expect(await result).toMatchObject({ intent: { seenBlock: 55 } })
  })

  it('is refused with the signature of another payment, also after its own was accepted', async () => {
    const other = aPayment({ authorization: { ...payment.authorization, value: 1n } })
    const asked = { ...payment, signature: await signPayment(other) }
    expect(await check({}, asked).result).toMatchObject(rejected('signature'))
  })

  it('is refused while its signature would deploy the wallet, and accepted once that is there', async () => {
    const asked = {
      ...payment,
      signature: serializeErc6492Signature({
        address: payTo,
        data: '0x',
        signature: payment.signature,
      }),
    }
    expect(await check({}, asked).result).toMatchObject(rejected('factoryNotAllowed'))
    const questions: string[] = []
    const rpc = {
      async request(_method: string, [{ to, data }]: [{ to: string; data: string }]) {
        if (to !== payment.authorization.from) return '0x'
        questions.push(data)
        return `${selectors.isValidSignature}${'0'.repeat(56)}`
      },
    } as unknown as Rpc
    const deployed = { facts: { payerHasCode: true }, served: { rpc } }
    const { signature } = payment
    expect(await check(deployed, asked).result).toMatchObject({
      state: 'valid',
      intent: { signature, isAlone: true },
    })
    expect(questions).toEqual([expect.stringContaining(signature.slice(2))])
    expect(questions[0]).not.toContain('64926492')
  })

  it('is refused where the operator does not pay its gas', async () => {
    const rejection = { reason: 'gasBudgetExceeded', message: 'enough' } as const
    const { result } = check({ served: { guardGas: async () => rejection } })
    expect(await result).toEqual({ state: 'rejected', rejection })
  })

  it('is refused where the operator blocks its recipient', async () => {
    const terms = aTerms({ isPayToBlocked: (address) => address === payTo })
    const { result } = check({ served: { terms } })
    expect(await result).toMatchObject(rejected('payToNotAllowed'))
  })

  it.each([devnetContracts.batchSettlement, devnetContracts.erc3009Collector])(
    'is refused to a contract of x402, %s, which would keep the money',
    async (contract) => {
      const to = contract.toLowerCase() as Hex
      const asked = aPayment({ payTo: to, authorization: { ...payment.authorization, to } })
      expect(await check({}, asked).result).toMatchObject(rejected('invalidPayTo'))
    },
  )

  it('is refused when the chain’s clock is past its end, although ours is not', async () => {
    const chainSeconds = () => nowSeconds + 60
    const { result } = check({ served: { chainSeconds } })
    expect(await result).toMatchObject(rejected('validBefore'))
  })

  it('is not checked at all once the token has changed', async () => {
    const changed = new Error('the token has changed')
    const { result } = check({ served: { tokenMismatch: () => changed } })
    await expect(result).rejects.toBe(changed)
  })

  it.each<[string, Partial<PaymentFacts>, string]>([
    ['the payer is blocked by the token', { isPayerBlocklisted: true }, 'payerBlocklisted'],
    ['the recipient is blocked by the token', { isPayToBlocklisted: true }, 'payToBlocklisted'],
    ['the token is paused', { isPaused: true }, 'assetPaused'],
    ['the payer is short of money', { balance: 9_999n }, 'insufficientBalance'],
  ])('is refused when %s', async (_, facts, reason) => {
    expect(await check({ facts }).result).toMatchObject(rejected(reason))
  })

  it('that is used on chain is refused with the transaction: it may have bought something elsewhere', async () => {
    const { result } = check({ use: paidIn(49) })
    expect(await result).toMatchObject({ ...rejected('nonceAlreadyUsed'), transaction })
  })
})

describe('a payment that the journal knows', () => {
  const submitted = { state: 'submitted' } as const

  it('is decided by its row, before balance and nonce are read', async () => {
    const facts = { balance: 0n, isNonceUsed: true }
    const { result } = check({ facts, row: { ...submitted, digest } })
    expect(await result).toMatchObject({ state: 'known', job: { digest } })
  })

  it('is answered to nobody who presents another signature', async () => {
    const asked = { ...payment, signature: `0x${'ab'.repeat(64)}1b` } as const
    const { result } = check({ row: { ...submitted, digest } }, asked)
    expect(await result).toMatchObject(rejected('signature'))
  })

  it('waits for another authorization of the same nonce that came before', async () => {
    const { result } = check({ row: { ...submitted, digest: '0x01' } })
    expect(await result).toMatchObject({ state: 'held', job: { digest: '0x01' } })
  })

  it('may be tried again when its row has failed', async () => {
    const { result } = check({ row: { state: 'failed', digest, seenBlock: SEEN_BLOCK } })
    expect(await result).toMatchObject({ state: 'valid', intent: { failedJob: { digest } } })
  })
})

describe('a payment that was claimed here, failed, and was used on chain since', () => {
  const failed = { state: 'failed', seenBlock: SEEN_BLOCK } as const

  it('is paid when the use came after the claim', async () => {
    const about = { row: { ...failed, digest }, use: paidIn(SEEN_BLOCK + 1) } as const
    const { result, searched } = check(about)
    expect(await result).toMatchObject({ state: 'paidElsewhere', transferLog: 3 })
    expect(searched).toEqual([SEEN_BLOCK - 2])
  })

  it('is paid as well when it is asked about after its end', async () => {
    const chainSeconds = () => nowSeconds + 60
    const row = { ...failed, digest } as const
    const { result } = check({ row, use: paidIn(SEEN_BLOCK + 1), served: { chainSeconds } })
    expect(await result).toMatchObject({ state: 'paidElsewhere', transferLog: 3 })
  })

  it('is used when the use came before the claim', async () => {
    const { result } = check({ row: { ...failed, digest }, use: paidIn(SEEN_BLOCK) })
    expect(await result).toMatchObject({ ...rejected('nonceAlreadyUsed'), transaction })
  })

  it('is used when the block of the use is of a second before the claim', async () => {
    const use = paidIn(SEEN_BLOCK + 1, CLAIMED_AT - 1)
    const { result } = check({ row: { ...failed, digest }, use })
    expect(await result).toMatchObject(rejected('nonceAlreadyUsed'))
  })

  it('is used when the claim was for another authorization', async () => {
    const row = { ...failed, digest: '0x01' } as const
    const { result } = check({ row, use: paidIn(SEEN_BLOCK + 1) })
    expect(await result).toMatchObject(rejected('nonceAlreadyUsed'))
  })

  it('is unclear while nobody traces a transaction since the claim, and used if that was before', async () => {
    const untraced = (blockNumber: number): AuthorizationUse => ({
      state: 'untraced',
      receipt: { transactionHash: transaction, blockNumber } as Receipt,
      minedAt: CLAIMED_AT,
    })
    const row = { ...failed, digest }
    expect(await check({ row, use: untraced(SEEN_BLOCK + 1) }).result).toMatchObject({
      state: 'unclear',
      transaction,
    })
    const before = await check({ row, use: untraced(SEEN_BLOCK) }).result
    expect(before).toMatchObject(rejected('nonceAlreadyUsed'))
    expect(before).not.toHaveProperty('transaction')
  })

  it('is unclear while no node shows by whom', async () => {
    const row = { ...failed, digest }
    const unread = check({ row, use: { state: 'unread', transaction } })
    expect(await unread.result).toEqual({ state: 'unclear', transaction })
    const notYet = check({ row, use: { state: 'notFound', isFinal: false } })
    expect(await notYet.result).toMatchObject({ state: 'unclear' })
    const never = check({ row, use: { state: 'notFound', isFinal: true } })
    expect(await never.result).toMatchObject(rejected('nonceAlreadyUsed'))
  })
})
