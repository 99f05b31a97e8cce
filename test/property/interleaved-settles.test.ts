import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { reasons } from '../../src/x402/reasons.js'
import { aBody, aPayment, signPayment } from '../unit/x402/a-payment.js'
import { aSettlingService } from './a-settling-service.js'

let payment = aPayment()
beforeAll(async () => {
  payment = { ...payment, signature: await signPayment(payment) }
})

type Service = ReturnType<typeof aSettlingService>

interface Caller {
  isConnected: boolean
  /** What it was told, once the whole answer has reached it. */
  told?: { success: boolean; errorReason?: string; transaction: string }
}

/** A caller as the route serves it: told when the answer is out, its right given back when it is gone by then. */
async function call(service: Service, s: fc.Scheduler, caller: Caller, idempotencyKey?: string) {
  await s.schedule(Promise.resolve(), 'request arrives')
  const { body, delivery } = await service.settle({
    body: aBody(payment),
    idempotencyKey,
    isConnected: () => caller.isConnected,
  })
  await s.schedule(Promise.resolve(), 'answer is written')
  if (!caller.isConnected) return delivery?.release()
  caller.told = body
  await delivery?.complete()
}

async function hangUp(s: fc.Scheduler, caller: Caller): Promise<void> {
  await s.schedule(Promise.resolve(), 'caller hangs up')
  caller.isConnected = false
}

async function serve(
  s: fc.Scheduler,
  patience: readonly boolean[],
  idempotencyKey?: string,
): Promise<{ service: Service; callers: Caller[] }> {
  const service = aSettlingService(payment, (label) => s.schedule(Promise.resolve(), label))
  const callers = patience.map((): Caller => ({ isConnected: true }))
  const lives = callers.flatMap((caller, i) => [
    call(service, s, caller, idempotencyKey),
    ...(patience[i] ? [] : [hangUp(s, caller)]),
  ])
  try {
    await s.waitFor(Promise.all(lives))
  } finally {
    service.close()
  }
  return { service, callers }
}

/** Whether each caller waits for its answer, or hangs up at some moment. */
const patience = fc.array(fc.boolean(), { minLength: 1, maxLength: 6 })

it('submits once and tells one connected caller of success, whatever comes before what', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), patience, async (s, patience) => {
      const { service, callers } = await serve(s, patience)
      const told = callers.flatMap((caller) => caller.told ?? [])
      const paid = told.filter(({ success }) => success)
      expect(service.submitted).toHaveLength(1)
      expect(paid.length).toBeLessThanOrEqual(1)
      if (patience.includes(true)) expect(paid).toHaveLength(1)
      for (const answer of told) {
        expect(answer.transaction).toMatch(/^0x(aa){32}$/)
        if (!answer.success) expect(answer.errorReason).toBe(reasons.nonceAlreadyUsed.code)
      }
    }),
    { numRuns: 300 },
  )
})

it('tells every connected caller with the same Idempotency-Key of the one success', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), patience, async (s, patience) => {
      const { service, callers } = await serve(s, patience, 'the-key-of-the-merchant')
      expect(service.submitted).toHaveLength(1)
      for (const { told } of callers) if (told !== undefined) expect(told.success).toBe(true)
      for (const [i, waits] of patience.entries()) {
        if (waits) expect(callers[i]?.told?.success).toBe(true)
      }
    }),
    { numRuns: 150 },
  )
})

it('answers verify with valid until the payment is under way, and again while it is landed but untold', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), async (s) => {
      const service = aSettlingService(payment, (label) => s.schedule(Promise.resolve(), label))
      try {
        const settles = [{ isConnected: true }, { isConnected: true }].map((caller: Caller) =>
          call(service, s, caller),
        )
        const seen: string[] = []
        const verify = async () => {
          await s.schedule(Promise.resolve(), 'verify arrives')
          seen.push((await service.judge(payment, 6)).state)
        }
        await s.waitFor(Promise.all([...settles, verify(), verify(), verify()]))
        // Never "rejected": the payment was good and is settled here.
        for (const state of seen) expect(['valid', 'known', 'paidElsewhere']).toContain(state)
      } finally {
        service.close()
      }
    }),
    { numRuns: 100 },
  )
})
