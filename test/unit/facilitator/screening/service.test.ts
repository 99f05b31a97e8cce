import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ScreeningService,
  type ScreeningVerdict,
} from '../../../../src/facilitator/screening/service.js'
import { startServer, type TestServer } from '../../../support/a-server.js'
import { withResolvers } from '../../../support/with-resolvers.js'

const payer: Address = '0x15d34aaf54267db7d7c367839aaf71a00a2c6a65'
const payTo: Address = '0x9965507d1a55bcc2695c58ba16fb37d819b0a4dc'
const parties = { network: 'eip155:5042', payer, payTo }

let bodies: unknown[]
let answer: (parties: { payer: Address }) => Promise<readonly [status: number, text: string]>
let verdicts: ScreeningVerdict[]
let service: ScreeningService
let clock: number
let server: TestServer

beforeEach(async () => {
  bodies = []
  verdicts = []
  clock = 1
  answer = async () => [200, '{"allow":true}']
  server = await startServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    bodies.push(body)
    const [status, text] = await answer(body)
    response.writeHead(status, status === 302 ? { location: '/other' } : {}).end(text)
  })
  service = new ScreeningService(
    `${server.url}/screen`,
    (verdict) => verdicts.push(verdict),
    () => clock,
  )
})
afterEach(() => server.close())

describe('the screening service', () => {
  it('is told network, payer and recipient, and nothing else', async () => {
    await expect(service.allows(parties)).resolves.toBe(true)
    expect(bodies).toEqual([parties])
    expect(verdicts).toEqual(['allowed'])
  })

  it('is asked once about the same two for a day, and once an hour about those it refuses', async () => {
    answer = async ({ payer: asked }) => [200, JSON.stringify({ allow: asked === payer })]
    const other = { ...parties, payer: payTo, payTo: payer }
    for (let i = 0; i < 3; i++) {
      await expect(service.allows(parties)).resolves.toBe(true)
      await expect(service.allows(other)).resolves.toBe(false)
    }
    expect(bodies).toHaveLength(2)
    clock += 3_600_001
    await Promise.all([service.allows(parties), service.allows(other)])
    expect(bodies).toHaveLength(3)
    clock += 24 * 3_600_000
    await service.allows(parties)
    expect(bodies).toHaveLength(4)
  })

  it('is asked once by those who ask at the same time', async () => {
    answer = async () => {
      await sleep(50)
      return [200, '{"allow":true}']
    }
    await Promise.all(Array.from({ length: 10 }, () => service.allows(parties)))
    expect(bodies).toHaveLength(1)
  })

  it.each([
    ['an error', [500, '{"allow":true}']],
    ['no JSON', [200, 'yes']],
    ['another answer', [200, '{"allow":"true"}']],
    ['null', [200, 'null']],
    ['another address', [302, '']],
    ['too much', [200, `{"allow":true,"why":"${'x'.repeat(10_000)}"}`]],
  ] as const)('has said nothing where it answers %s, and is asked again', async (_, said) => {
    answer = async () => said
    await expect(service.allows(parties)).rejects.toThrow()
    answer = async () => [200, '{"allow":true}']
    await expect(service.allows(parties)).resolves.toBe(true)
    expect(verdicts).toEqual(['failed', 'allowed'])
  })

  it('has said nothing where it takes longer than a payment can wait', async () => {
    answer = async () => {
      await sleep(2_000)
      return [200, '{"allow":true}']
    }
    const startedAt = performance.now()
    await expect(service.allows(parties)).rejects.toThrow()
    expect(performance.now() - startedAt).toBeLessThan(1_500)
  })

  it('is not asked by more than 64 at once', async () => {
    const waiting = withResolvers<void>()
    answer = async () => {
      await waiting.promise
      return [200, '{"allow":true}']
    }
    const asked = Array.from({ length: 65 }, (_, i) =>
      service
        .allows({ ...parties, payer: `0x${String(i).padStart(40, '0')}` })
        .catch(() => 'failed'),
    )
    expect(await asked[64]).toBe('failed')
    waiting.resolve()
    await Promise.all(asked)
    expect(bodies.length).toBeLessThanOrEqual(64)
  })
})
