import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { reasons } from '@arcus/protocol/x402/reasons'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

/** A node that can be told to hang, or to hang up. */
let mode: 'well' | 'hanging' | 'gone' = 'well'
let node: Server
let world: World

beforeAll(async () => {
  world = await startWorld({
    between: async (chainUrl) => {
      node = createServer(async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk)
        if (mode === 'hanging') return
        if (mode === 'gone') {
          request.socket.destroy()
          return
        }
        const body = Buffer.concat(chunks)
        const headers = { 'content-type': 'application/json' }
        const answer = await fetch(chainUrl, { method: 'POST', headers, body })
        response.setHeader('content-type', 'application/json')
        response.end(await answer.text())
      })
      await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
      return `http://127.0.0.1:${(node.address() as AddressInfo).port}/secret-key`
    },
  })
})
afterAll(async () => {
  await world.stop()
  node.closeAllConnections()
  node.close()
})

it.each(['hanging', 'gone'] as const)(
  'a node that is %s makes verify and settle a 500 in shape within seconds, and is survived',
  async (trouble) => {
    const payment = await aSignedPayment()
    mode = trouble
    const startedAt = Date.now()
    const client = new HTTPFacilitatorClient({ url: world.url })
    // biome-ignore lint/suspicious/noExplicitAny: the official types want literal networks
    const official = [payment.paymentPayload, payment.paymentRequirements] as any[]
    const [verified, settled, ready, status, failures] = await Promise.all([
      world.post('/verify', payment),
      world.post('/settle', payment),
      fetch(`${world.url}/ready`),
      world.get('/api/status'),
      Promise.allSettled([
        client.verify(official[0], official[1]),
        client.settle(official[0], official[1]),
      ]),
      world.get('/api/console'),
    ])
    mode = 'well'
    expect(Date.now() - startedAt).toBeLessThan(20_000)
    expect(failures).toMatchObject([
      { reason: { statusCode: 500, invalidReason: reasons.unexpectedVerifyError.code } },
      { reason: { statusCode: 500, errorReason: reasons.unexpectedSettleError.code } },
    ])
    expect(verified).toMatchObject({
      status: 500,
      body: {
        isValid: false,
        invalidReason: reasons.unexpectedVerifyError.code,
        invalidMessage: expect.stringContaining('The chain could not be read'),
      },
    })
    expect(settled).toMatchObject({
      status: 500,
      body: {
        success: false,
        errorReason: reasons.unexpectedSettleError.code,
        errorMessage: expect.stringContaining('The chain could not be read'),
        transaction: '',
        network: 'eip155:5042',
      },
    })
    expect(ready.status).toBe(503)
    expect(status).toMatchObject({ status: 200, body: { status: 'not_ready' } })
    for (const text of world.said) expect(text).not.toContain('secret-key')
    // Its own clock may have cooled the only node down for a moment.
    await expect
      .poll(async () => (await world.post('/settle', payment)).body.success, { timeout: 10_000 })
      .toBe(true)
  },
)
