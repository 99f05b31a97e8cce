import { reasons } from '@arcus/protocol/x402/reasons'
import type { Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ClaimResult, Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import { createOpenClaims } from '../../../../src/facilitator/relayer/open-claims.js'
import type { DeliveryTurn } from '../../../../src/facilitator/settle/deliveries.js'
import { createSettler, type SettleRequest } from '../../../../src/facilitator/settle/settler.js'
import type { CheckResult } from '../../../../src/facilitator/verify/payment-check.js'
import { unexpected } from '../../../support/unexpected.js'
import { aJob, anOutcome } from '../../app/stores/store-contract.js'
import { aBody, aPayment, network, nowSeconds } from '../../protocol/x402/a-payment.js'
import { anIntent } from '../methods/an-intent.js'

const transaction = `0x${'aa'.repeat(32)}` as const

beforeEach(() => {
  vi.useFakeTimers({ now: nowSeconds * 1_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

const queued = { ...aJob(), round: 0, state: 'queued', transaction: null, attestation: null } as Job
const confirmed = { ...queued, ...anOutcome({ transaction }) } as Job

type Options = Parameters<typeof createSettler>[0]
type RelayerOfSettler = NonNullable<ReturnType<Options['relayers']['get']>>

/** A settler for one payment; by default the check finds it valid and no outcome comes. */
function aSettler(
  world: {
    result?: CheckResult
    claim?: ClaimResult
    decided?: Job
    turn?: DeliveryTurn
    boundTo?: string
    /** The newest transaction that was signed with the payment; an error where the journal cannot be read. */
    signed?: Hex | Error
    row?: Job
    /** The journal cannot be read. */
    isGone?: boolean
    /** The call of a store that fails. */
    failing?: 'claim' | 'findJob' | 'bindIdempotencyKey' | 'take'
    /** A success that could not be written. */
    landed?: SettleRequest['landed']
    /** Holds up the checks of this caller. */
    slowCaller?: string
  } = {},
) {
  const withdrawn: string[] = []
  const marginsSeconds: number[] = []
  const submitted: string[] = []
  let caller: string | undefined
  const intent = anIntent()
  const relayer: RelayerOfSettler = {
    expect: () => () => {},
    submit: ({ id }) => void submitted.push(id),
    isTracking: () => true,
    isSole: true,
    openClaims: createOpenClaims(),
    untilDecided: () =>
      world.decided === undefined ? new Promise(() => {}) : Promise.resolve(world.decided),
    untilDecidedElsewhere: unexpected,
    async withdraw({ id }) {
      withdrawn.push(id)
      return undefined
    },
  }
  const call = async <Answer>(name: typeof world.failing, answer: Answer) => {
    if (world.failing === name) throw new Error(`${name} failed`)
    return answer
  }
  const settle = createSettler({
    checkPayment: async (_payment, { marginSeconds }) => {
      marginsSeconds.push(marginSeconds)
      if (world.isGone) throw new Error('gone')
      if (caller !== undefined && caller === world.slowCaller) await new Promise(() => {})
      return world.result ?? { state: 'valid', intent }
    },
    journal: {
      claim: () => call('claim', world.claim ?? { state: 'claimed', job: queued }),
      findJob: () => call('findJob', world.row ?? queued),
      async findSigned() {
        if (world.signed instanceof Error) throw world.signed
        return world.signed
      },
      recordFound: unexpected,
      reopen: unexpected,
    },
    deliveryStore: {
      bindIdempotencyKey: () => call('bindIdempotencyKey', world.boundTo ?? queued.id),
      findIdempotencyKey: unexpected,
    },
    deliveries: { take: () => call('take', world.turn) },
    relayers: new Map([[network, relayer]]),
    settleWaitSeconds: 30,
    checksum: (address) => address,
    paymentUrl: () => 'https://arcus.example/payments',
    now: Date.now,
    log: { error() {} },
  })
  const ask = async (maxTimeoutSeconds = 60, idempotencyKey?: string, from?: string) => {
    caller = from
    return settle({
      body: aBody(aPayment({ maxTimeoutSeconds })),
      idempotencyKey,
      ...(from && { caller: from }),
      ...(world.landed && { landed: world.landed }),
      isConnected: () => true,
    })
  }
  return { ask, withdrawn, submitted, marginsSeconds }
}

const key = 'a-key-of-sixteen'
const unknown = { success: false, errorReason: 'settlement_unknown', transaction: '' }
const pending = { success: false, errorReason: 'settlement_pending', transaction }
const used = { success: false, errorReason: reasons.nonceAlreadyUsed.code, transaction }

it('waits for no crowd of another caller, who may name any payer', async () => {
  const decided = { ...queued, state: 'failed', reason: 'signature' } as Job
  const { ask } = aSettler({ decided, slowCaller: 'stranger' })
  for (let i = 0; i < 100; i++) void ask(60, undefined, 'stranger')
  const answer = ask(60, undefined, 'merchant')
  await vi.advanceTimersByTimeAsync(100)
  expect((await answer).body.success).toBe(false)
})

it('names the transaction of a success that was not written, where the journal is gone', async () => {
  const body = { success: true, transaction, network }
  const landed = { body, settlementId: queued.id }
  expect((await aSettler({ isGone: true, landed }).ask()).body).toMatchObject({
    ...pending,
    extensions: { 'settlement-status': { status: 'pending', paymentId: queued.id } },
  })
  await expect(aSettler({ isGone: true }).ask()).rejects.toThrow('gone')
})

describe('a settle whose payment does not land', () => {
  it.each([
    ['the merchant’s own limit when that is shorter', 2, 2_000],
    ['the limit of the service otherwise', 60, 30_000],
  ])('is answered as pending after %s', async (_, maxTimeoutSeconds, waitMs) => {
    const { ask } = aSettler({ row: { ...queued, state: 'submitted', transaction } })
    let isAnswered = false
    const answer = ask(maxTimeoutSeconds).finally(() => {
      isAnswered = true
    })
    await vi.advanceTimersByTimeAsync(waitMs - 1)
    expect(isAnswered).toBe(false)
    await vi.advanceTimersByTimeAsync(2)
    expect((await answer).body).toMatchObject(pending)
  })

  it('takes back what it brought about, and nothing that others did', async () => {
    const own = aSettler()
    const first = own.ask(2)
    await vi.advanceTimersByTimeAsync(2_001)
    await first
    expect(own.withdrawn).toEqual([queued.id])
    const claimed = { ...queued, updatedAt: Date.now() }
    const joined = aSettler({ result: { state: 'known', job: claimed } })
    const second = joined.ask(2)
    await vi.advanceTimersByTimeAsync(2_001)
    expect(await second).toMatchObject({ status: 503, body: unknown })
    expect(joined.withdrawn).toEqual([])
  })

  it('takes back what was never signed for a request that must be over', async () => {
    const claimed = { ...queued, updatedAt: Date.now() - 30_001 }
    const joined = aSettler({ result: { state: 'known', job: claimed } })
    const answer = joined.ask(2)
    await vi.advanceTimersByTimeAsync(2_001)
    await answer
    expect(joined.withdrawn).toEqual([queued.id])
  })

  it.each<[string, Parameters<typeof aSettler>[0], object]>([
    ['the transaction that it names', { row: { ...queued, transaction } }, pending],
    ['the signed one that no node took', { signed: transaction }, pending],
    [
      'the reason why its end is not known',
      { row: { ...queued, transaction, message: 'Why.' } },
      { ...pending, errorMessage: 'Why.' },
    ],
    ['nothing where nothing is known', {}, unknown],
    ['nothing where the journal cannot be read', { signed: new Error('gone') }, unknown],
  ])('names %s', async (_, world, expected) => {
    const answer = aSettler(world).ask(2)
    await vi.advanceTimersByTimeAsync(2_001)
    expect((await answer).body).toMatchObject(expected)
  })

  it.each<[string, CheckResult, number, object]>([
    ['the transaction that used it', { state: 'unclear', transaction }, 200, pending],
    [
      'nothing, where no node shows that',
      { state: 'unclear', transaction: undefined },
      503,
      unknown,
    ],
  ])('after an earlier failure names %s', async (_, result, status, body) => {
    expect(await aSettler({ result }).ask()).toMatchObject({ status, body })
  })

  it('names the reason when it has failed', async () => {
    const failed = { ...queued, state: 'failed', reason: 'insufficientBalance', message: 'Poor.' }
    const { body } = await aSettler({ decided: failed as Job }).ask()
    expect(body).toMatchObject({
      success: false,
      errorReason: reasons.insufficientBalance.code,
      errorMessage: 'Poor.',
    })
  })
})

describe('a settle whose payment has landed', () => {
  const delivery = { isHeld: async () => true, complete: async () => {}, release: async () => {} }

  it('is a success for the caller whose turn it is, to be marked as delivered', async () => {
    const { ask } = aSettler({ decided: confirmed, turn: { state: 'granted', delivery } })
    expect(await ask()).toMatchObject({ body: { success: true, transaction }, delivery })
  })

  it('is used for anybody who comes after that', async () => {
    const { ask } = aSettler({ decided: confirmed, turn: { state: 'delivered', key: null } })
    const { body, delivery } = await ask()
    expect([body, delivery]).toMatchObject([used, undefined])
  })

  it('is a success again for the same Idempotency-Key, and for no other', async () => {
    const { ask } = aSettler({ decided: confirmed, turn: { state: 'delivered', key } })
    expect((await ask(60, key)).body).toMatchObject({ success: true, transaction })
    expect((await ask(60, 'another-key-of-this')).body).toMatchObject(used)
    expect((await ask()).body).toMatchObject(used)
  })

  it('is pending while another caller is being answered', async () => {
    const { ask } = aSettler({ decided: confirmed, turn: { state: 'busy' } })
    expect((await ask()).body).toMatchObject(pending)
  })

  it('that another authorization of the nonce was is used, with its transaction', async () => {
    const { ask, submitted } = aSettler({ result: { state: 'held', job: confirmed } })
    expect((await ask()).body).toMatchObject(used)
    expect(submitted).toEqual([])
  })
})

describe('a store that fails', () => {
  const submitted = { ...queued, state: 'submitted', transaction } as Job

  it('before the payment is claimed ends the settle, and nothing is sent', async () => {
    const claiming = aSettler({ failing: 'claim' })
    await expect(claiming.ask()).rejects.toThrow('claim failed')
    const known = aSettler({
      failing: 'bindIdempotencyKey',
      result: { state: 'known', job: submitted },
    })
    await expect(known.ask(60, key)).rejects.toThrow('bindIdempotencyKey failed')
    expect([claiming.submitted, known.submitted]).toEqual([[], []])
  })

  it('while the outcome is awaited leaves the payment pending, with its hash', async () => {
    const { ask } = aSettler({ failing: 'findJob', result: { state: 'known', job: submitted } })
    const answer = ask(2)
    await vi.advanceTimersByTimeAsync(2_001)
    expect((await answer).body).toMatchObject(pending)
  })

  it('when the right to answer is to be stored leaves it pending, with its hash', async () => {
    const { ask } = aSettler({ failing: 'take', decided: confirmed })
    const { body, delivery } = await ask(60, key)
    expect([body, delivery]).toMatchObject([pending, undefined])
    expect(body.errorMessage).toMatch(/the right to answer could not be stored/)
  })
})

it('a settle that another request overtook is checked again, and joins it', async () => {
  const results: CheckResult[] = [{ state: 'known', job: confirmed }]
  let checks = 0
  const { ask, submitted } = aSettler({
    claim: { state: 'held', job: confirmed },
    turn: { state: 'delivered', key: null },
    get result() {
      return checks++ === 0 ? undefined : results[0]
    },
  } as Parameters<typeof aSettler>[0])
  expect((await ask()).body).toMatchObject(used)
  expect([checks, submitted]).toEqual([2, []])
})

describe('an Idempotency-Key', () => {
  it('that belongs to another payment is a conflict, and nothing is sent', async () => {
    const { ask, submitted } = aSettler({ claim: { state: 'keyConflict' } })
    expect((await ask(60, key)).body).toMatchObject({
      errorReason: reasons.idempotencyKeyConflict.code,
    })
    const known = aSettler({ result: { state: 'known', job: confirmed }, boundTo: 'another' })
    expect((await known.ask(60, key)).body).toMatchObject({
      errorReason: reasons.idempotencyKeyConflict.code,
    })
    expect(submitted).toEqual([])
  })

  it.each([
    ['x'.repeat(15), false],
    ['x'.repeat(16), true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['with a blank inside', false],
  ])('%s is taken: %s', async (given, isTaken) => {
    const turn = { state: 'delivered', key: given } as const
    const { body } = await aSettler({ decided: confirmed, turn }).ask(60, given)
    expect(body.success).toBe(isTaken)
  })
})

it('a settle asks for less time left on the authorization than verify', async () => {
  const { ask, marginsSeconds } = aSettler({ decided: confirmed })
  await ask()
  expect(marginsSeconds).toEqual([2])
})
