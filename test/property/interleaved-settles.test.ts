import { reasons } from '@arcus/protocol/x402/reasons'
import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { aBody, aPayment, signPayment } from '../unit/x402/a-payment.js'
import { aSettlingService, type World } from './a-settling-service.js'

let payment = aPayment()
beforeAll(async () => {
  payment = { ...payment, signature: await signPayment(payment) }
})

type Service = ReturnType<typeof aSettlingService>

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
async function call(service: Service, s: fc.Scheduler, caller: Caller, idempotencyKey?: string) {
  await s.schedule(Promise.resolve(), 'request arrives')
  const { body, delivery } = await service.settle({
    body: aBody(caller.lies ? { ...payment, signature: `0x${'ab'.repeat(64)}1b` } : payment),
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

/** Lets all callers loose on one payment and returns when each is answered or gone. */
async function serve(
  s: fc.Scheduler,
  callers: readonly Caller[],
  world: Omit<World, 'gate'> & { idempotencyKey?: string } = {},
): Promise<Service> {
  const gate = (label: string) => s.schedule(Promise.resolve(), label)
  const service = aSettlingService(payment, { ...world, gate })
  const lives = callers.flatMap((caller) => [
    call(service, s, caller, world.idempotencyKey),
    ...(caller.waits ? [] : [hangUp(s, caller)]),
  ])
  try {
    await s.waitFor(Promise.all(lives))
  } finally {
    service.close()
  }
  return service
}

const someCallers = (lies: fc.Arbitrary<boolean> = fc.constant(false)) =>
  fc.array(
    fc.record({ waits: fc.boolean(), lies }).map((nature): Caller => {
      return { ...nature, isConnected: true }
    }),
    { minLength: 1, maxLength: 6 },
  )

it('submits once and answers one connected caller with success, in every order of events', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      someCallers(),
      fc.boolean(),
      async (s, callers, isContract) => {
        const service = await serve(s, callers, { isContract })
        const answers = callers.flatMap((caller) => caller.answer ?? [])
        const paid = answers.filter(({ success }) => success)
        expect(service.submitted).toHaveLength(1)
        expect(paid.length).toBeLessThanOrEqual(1)
        if (callers.some(({ waits }) => waits)) expect(paid).toHaveLength(1)
        for (const answer of answers) {
          expect(answer.transaction).toMatch(/^0x(aa){32}$/)
          if (!answer.success) expect(answer.errorReason).toBe(reasons.nonceAlreadyUsed.code)
        }
      },
    ),
    { numRuns: 400 },
  )
})

it('answers only callers with the right signature with success, and loses none of them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), someCallers(fc.boolean()), async (s, callers) => {
      const service = await serve(s, callers)
      const honest = callers.filter(({ lies }) => !lies)
      expect(service.submitted).toHaveLength(honest.length > 0 ? 1 : 0)
      for (const { lies, answer } of callers) {
        if (lies && answer !== undefined) expect(answer.errorReason).toBe(reasons.signature.code)
      }
      if (honest.some(({ waits }) => waits)) {
        expect(honest.filter(({ answer }) => answer?.success)).toHaveLength(1)
      }
    }),
    { numRuns: 200 },
  )
})

it('settles once and answers once with success when earlier tries failed for good', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      someCallers(),
      fc.integer({ min: 1, max: 3 }),
      async (s, callers, failures) => {
        const service = await serve(s, callers, { failures })
        const paid = callers.filter(({ answer }) => answer?.success)
        expect(service.landings()).toBeLessThanOrEqual(1)
        expect(paid.length).toBeLessThanOrEqual(service.landings())
        expect(service.submitted.length).toBeLessThanOrEqual(failures + 1)
      },
    ),
    { numRuns: 200 },
  )
})

it('answers every connected caller with the same Idempotency-Key with the one success', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), someCallers(), async (s, callers) => {
      const service = await serve(s, callers, { idempotencyKey: 'the-key-of-the-merchant' })
      expect(service.submitted).toHaveLength(1)
      for (const { waits, answer } of callers) {
        if (waits) expect(answer?.success).toBe(true)
        if (answer !== undefined) expect(answer.success).toBe(true)
      }
    }),
    { numRuns: 200 },
  )
})

it('never rejects a payment that is being settled, whenever it is checked', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.boolean(), async (s, isContract) => {
      const gate = (label: string) => s.schedule(Promise.resolve(), label)
      const service = aSettlingService(payment, { gate, isContract })
      const caller: Caller = { waits: true, lies: false, isConnected: true }
      const checkPayment = async () => {
        await s.schedule(Promise.resolve(), 'verify arrives')
        const purpose = { isSettle: false, marginSeconds: 6, maxAgeMs: 0 }
        return (await service.checkPayment(payment, purpose)).state
      }
      try {
        const results = Promise.all([checkPayment(), checkPayment(), checkPayment()])
        await s.waitFor(Promise.all([results, call(service, s, caller)]))
        for (const state of await results) expect(['valid', 'known']).toContain(state)
      } finally {
        service.close()
      }
    }),
    { numRuns: 200 },
  )
})
