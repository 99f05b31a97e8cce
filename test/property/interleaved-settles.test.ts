import { reasons } from '@arcus/protocol/x402/reasons'
import fc from 'fast-check'
import { type Hex, numberToHex } from 'viem'
import { expect, it } from 'vitest'
import { RpcResponseError } from '../../src/chain/rpc-errors.js'
import { aFacilitator } from '../support/simulated/a-facilitator.js'
import { aWorld, pass, usdc, useVirtualClock } from '../support/simulated/a-relayer.js'
import { aBody, aPayment, nowSeconds, payer, signPayment } from '../unit/protocol/x402/a-payment.js'

useVirtualClock()

interface Wish {
  /** The payer is a contract, which accepts every signature. */
  isContract?: boolean
  /** So many tries fail for good before one lands. */
  failures?: number
}

/** A facilitator whose reads and writes come in the order that each run wants; `aRun` begins one with a new payment. */
async function aService() {
  const world = aWorld()
  let scheduler: fc.Scheduler | undefined
  let failures = 0
  const gate = async (label: string) => scheduler?.schedule(Promise.resolve(), label)
  const { request, batch } = world.rpc
  world.rpc.request = async (method, params) => {
    await gate(method)
    if (method === 'eth_estimateGas' && failures-- > 0) {
      throw new RpcResponseError(3, 'execution reverted: paused', undefined)
    }
    return request(method, params)
  }
  world.rpc.batch = async (calls) => {
    await gate('batch')
    return batch(calls)
  }
  world.store.before = gate
  const process = await world.start()
  const { settle, checkPayment } = aFacilitator(world, process)
  let runs = 0

  async function aRun(s: fc.Scheduler, wish: Wish) {
    const nonce = numberToHex(++runs, { size: 32 })
    const { authorization } = aPayment()
    const validBefore = BigInt(nowSeconds + 3_600)
    const unsigned = aPayment({ authorization: { ...authorization, validBefore, nonce } })
    const payment = { ...unsigned, signature: await signPayment(unsigned) }
    world.chain.change(({ tokens, code }) => {
      tokens.set(`${usdc}/${payer}`, 10_000n)
      if (wish.isContract) code.set(payer, 'agrees')
      else code.delete(payer)
    })
    failures = wish.failures ?? 0
    const before = { signed: process.happened.signed.length, mined: world.chain.mined().length }
    scheduler = s
    /** Lets everything happen, in this order, until `done`. */
    async function until<Result>(done: Promise<Result>): Promise<Result> {
      let isOver = false
      const result = done.finally(() => {
        isOver = true
      })
      result.catch(() => {})
      for (let i = 0; i < 5_000 && !isOver; i++) await (s.count() > 0 ? s.waitOne() : pass(50))
      if (!isOver) throw new Error('it does not end')
      return result
    }
    /** Lets what is still under way end. */
    async function end() {
      scheduler = undefined
      for (let i = 0; i < 60; i++) {
        while (s.count() > 0) await s.waitOne()
        await pass(50)
      }
    }
    const sent = () => ({
      signed: process.happened.signed.slice(before.signed),
      landed: world.chain.mined().slice(before.mined),
    })
    return { payment, settle, checkPayment, until, end, sent }
  }
  return aRun
}

type Run = Awaited<ReturnType<Awaited<ReturnType<typeof aService>>>>

interface Caller {
  /** Waits for its answer, instead of hanging up at some moment. */
  waits: boolean
  /** Presents the same authorization with a signature of its own making. */
  lies: boolean
  isConnected: boolean
  /** The answer, once it has reached the caller completely. */
  answer?: { success: boolean; errorReason?: string; transaction: string }
}

/** Serves a caller as the route does: the right is completed with the answer, or released if the caller is gone. */
async function call(run: Run, s: fc.Scheduler, caller: Caller, idempotencyKey?: string) {
  await s.schedule(Promise.resolve(), 'request arrives')
  const signature: Hex = `0x${'ab'.repeat(64)}1b`
  const { body, delivery } = await run.settle({
    body: aBody(caller.lies ? { ...run.payment, signature } : run.payment),
    idempotencyKey,
    isConnected: () => caller.isConnected,
  })
  await s.schedule(Promise.resolve(), 'answer is written')
  if (!caller.isConnected) return delivery?.release()
  caller.answer = body
  await delivery?.complete()
}

async function hangUp(s: fc.Scheduler, caller: Caller): Promise<void> {
  await s.schedule(Promise.resolve(), 'caller hangs up')
  caller.isConnected = false
}

/** Lets all callers loose on one payment, and returns what was signed and what landed when each is answered or gone. */
async function serve(
  aRun: Awaited<ReturnType<typeof aService>>,
  s: fc.Scheduler,
  callers: readonly Caller[],
  { idempotencyKey, ...wish }: Wish & { idempotencyKey?: string } = {},
) {
  const run = await aRun(s, wish)
  const lives = callers.flatMap((caller) => [
    call(run, s, caller, idempotencyKey),
    ...(caller.waits ? [] : [hangUp(s, caller)]),
  ])
  await run.until(Promise.all(lives)).finally(run.end)
  return run.sent()
}

const someCallers = (lies: fc.Arbitrary<boolean> = fc.constant(false)) =>
  fc.array(
    fc.record({ waits: fc.boolean(), lies }).map((nature): Caller => {
      return { ...nature, isConnected: true }
    }),
    { minLength: 1, maxLength: 6 },
  )

it('sends once and answers one connected caller with success, in every order of events', async () => {
  const aRun = await aService()
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      someCallers(),
      fc.boolean(),
      async (s, callers, isContract) => {
        const { signed, landed } = await serve(aRun, s, callers, { isContract })
        const answers = callers.flatMap((caller) => caller.answer ?? [])
        const paid = answers.filter(({ success }) => success)
        expect([signed.length, landed.length]).toEqual([1, 1])
        expect(paid.length).toBeLessThanOrEqual(1)
        if (callers.some(({ waits }) => waits)) expect(paid).toHaveLength(1)
        for (const answer of answers) {
          expect(answer.transaction).toBe(landed[0]?.hash)
          if (!answer.success) expect(answer.errorReason).toBe(reasons.nonceAlreadyUsed.code)
        }
      },
    ),
    { numRuns: 60 },
  )
})

it('answers only callers with the right signature with success, and loses none of them', async () => {
  const aRun = await aService()
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), someCallers(fc.boolean()), async (s, callers) => {
      const { landed } = await serve(aRun, s, callers)
      const honest = callers.filter(({ lies }) => !lies)
      expect(landed).toHaveLength(honest.length > 0 ? 1 : 0)
      for (const { lies, answer } of callers) {
        if (lies && answer !== undefined) expect(answer.errorReason).toBe(reasons.signature.code)
      }
      if (honest.some(({ waits }) => waits)) {
        expect(honest.filter(({ answer }) => answer?.success)).toHaveLength(1)
      }
    }),
    { numRuns: 50 },
  )
})

it('settles once and answers once with success when earlier tries failed for good', async () => {
  const aRun = await aService()
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      someCallers(),
      fc.integer({ min: 1, max: 3 }),
      async (s, callers, failures) => {
        const { signed, landed } = await serve(aRun, s, callers, { failures })
        const paid = callers.filter(({ answer }) => answer?.success)
        expect(landed.length).toBeLessThanOrEqual(1)
        expect(signed).toHaveLength(landed.length)
        expect(paid.length).toBeLessThanOrEqual(landed.length)
      },
    ),
    { numRuns: 50 },
  )
})

it('answers every connected caller with the same Idempotency-Key with the one success', async () => {
  const aRun = await aService()
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), someCallers(), async (s, callers) => {
      const idempotencyKey = `the-key-of-the-merchant-${runs++}`
      const { signed } = await serve(aRun, s, callers, { idempotencyKey })
      expect(signed).toHaveLength(1)
      for (const { waits, answer } of callers) {
        if (waits) expect(answer?.success).toBe(true)
        if (answer !== undefined) expect(answer.success).toBe(true)
      }
    }),
    { numRuns: 50 },
  )
})

it('never rejects a payment that is being settled, whenever it is checked', async () => {
  const aRun = await aService()
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.boolean(), async (s, isContract) => {
      const run = await aRun(s, { isContract })
      const caller: Caller = { waits: true, lies: false, isConnected: true }
      const checkPayment = async () => {
        await s.schedule(Promise.resolve(), 'verify arrives')
        const purpose = { isSettle: false, marginSeconds: 6, maxAgeMs: 0 }
        return (await run.checkPayment(run.payment, purpose)).state
      }
      const results = Promise.all([checkPayment(), checkPayment(), checkPayment()])
      await run.until(Promise.all([results, call(run, s, caller)])).finally(run.end)
      for (const state of await results) expect(['valid', 'known']).toContain(state)
    }),
    { numRuns: 50 },
  )
})
