import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { pause } from '../faults/support/behaviours.js'
import { usedCode } from '../faults/support/client.js'
import { aSignedPayment, network, somePayments } from '../faults/support/payments.js'
import { type Replicas, startReplicas } from '../faults/support/replicas.js'
import { expectAllSettledAndTrue } from '../faults/support/world.js'

const SLOW = { timeout: 15_000, interval: 250 }
/** Counts are exchanged every second. */
const EXCHANGED_MS = 2_500
const ALLOWANCE = 20

let world: Replicas
afterAll(() => world?.close())

const urlOf = (replica: number) => world.service(replica).url

/** One request that counts, from a caller that the proxy before the replicas names. */
function look(replica: number, caller: string): Promise<Response> {
  const nobody = `${network}/0x${'0'.repeat(40)}/0x${'0'.repeat(64)}`
  const headers = { 'x-forwarded-for': caller }
  return fetch(`${urlOf(replica)}/payments/${nobody}`, { headers })
}

async function lookOften(replica: number, caller: string, times: number): Promise<number> {
  let refused = 0
  for (let i = 0; i < times; i++) if ((await look(replica, caller)).status === 429) refused++
  return refused
}

async function post(replica: number, path: string, body: string) {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.99' }
  const response = await fetch(urlOf(replica) + path, { method: 'POST', headers, body })
  return (await response.json()) as Record<string, unknown>
}

describe('two replicas on one PostgreSQL', () => {
  beforeAll(async () => {
    world = await startReplicas({
      replicas: 2,
      relayers: 1,
      env: {
        TRUST_PROXY: '1',
        RATE_LIMIT_MAX: String(ALLOWANCE),
        // A first settlement spends less, a crowd of them more.
        DAILY_GAS_LIMIT_USD: '0.15',
      },
    })
  }, 150_000)

  it('count a caller together: requests at one count at the other', async () => {
    const caller = '192.0.2.1'
    expect(await lookOften(0, caller, ALLOWANCE)).toBe(0)
    const refused = await vi.waitUntil(async () => {
      const response = await look(1, caller)
      return response.status === 429 ? response : undefined
    }, SLOW)
    expect(await refused.json()).toMatchObject({ error: 'rate_limited' })
    const retryAfter = Number(refused.headers.get('retry-after'))
    expect(retryAfter).toBeGreaterThan(0)
    expect(retryAfter).toBeLessThanOrEqual(60)
    // Others are not meant.
    expect((await look(1, '192.0.2.2')).status).toBe(404)
  })

  it('add up requests that come to both in turns', async () => {
    const caller = '192.0.2.3'
    for (let i = 0; i < 3; i++) {
      expect(await lookOften(i % 2, caller, 6)).toBe(0)
      await pause(EXCHANGED_MS)
    }
    expect(await lookOften(0, caller, 2)).toBe(0)
    await pause(EXCHANGED_MS)
    expect(await lookOften(1, caller, 3)).toBe(3)
  })

  it('answer a settle wherever it arrives, even without a wallet there', async () => {
    const payments = await somePayments(2)
    const answers = await Promise.all(
      payments.map(({ body }, replica) => post(replica, '/settle', body)),
    )
    expect(answers).toMatchObject([{ success: true }, { success: true }])
  })

  it('give one success for one payment sent to both at once, and both answers are true', async () => {
    for (const { body, nonce, payer } of await somePayments(8)) {
      const answers = await Promise.all([post(0, '/settle', body), post(1, '/settle', body)])
      const won = answers.filter(({ success }) => success)
      expect(won).toHaveLength(1)
      const lost = answers.find(({ success }) => !success)
      expect(lost).toMatchObject({ errorReason: usedCode, transaction: won[0]?.transaction })
      for (const replica of [0, 1]) {
        const response = await fetch(`${urlOf(replica)}/payments/${network}/${payer}/${nonce}`, {
          headers: { 'x-forwarded-for': `192.0.2.${10 + replica}` },
        })
        expect(await response.json()).toMatchObject({
          state: 'confirmed',
          transaction: won[0]?.transaction,
        })
      }
    }
  })

  it('share one daily budget of gas: gasCharge at one stops the other', async () => {
    const limited = { invalidReason: 'gas_budget_exceeded', isValid: false }
    for (let round = 0; round < 120; round++) {
      const { body } = await aSignedPayment()
      const { success, errorReason } = await post(0, '/settle', body)
      if (success) continue
      expect(errorReason).toBe('gas_budget_exceeded')
      break
    }
    const { body } = await aSignedPayment()
    expect(await post(1, '/verify', body)).toMatchObject(limited)
    expect(await post(1, '/settle', body)).toMatchObject({
      success: false,
      errorReason: 'gas_budget_exceeded',
    })
    await expectAllSettledAndTrue(world, [])
  })
})
