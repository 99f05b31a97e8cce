import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { type PaymentFinder, paymentRoutes } from '../../src/facilitator/lookup/payments.js'
import type { AnswerPage } from '../../src/http/not-found.js'

const place = `/payments/eip155:5042/0x${'1'.repeat(40)}/0x${'2'.repeat(64)}`
const addresses = [place, `/payments/0x${'3'.repeat(64)}`]
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function serve(answerPage?: AnswerPage) {
  const app = Fastify()
  const nothing: PaymentFinder = {
    byNonce: async () => undefined,
    recordOf: async () => undefined,
    byTransaction: async () => [],
    byId: async () => undefined,
    findRefunds: async () => [],
  }
  paymentRoutes(app, nothing, async () => undefined, answerPage)
  return app
}

it('a browser that opens the address of a payment gets the page, and a program gets JSON', async () => {
  const app = await serve((_request, reply) => reply.type('text/html').send('the page'))
  for (const url of addresses) {
    const page = await app.inject({ url, headers: browser })
    expect([page.statusCode, page.body, page.headers.vary]).toEqual([200, 'the page', 'accept'])
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      const answer = await app.inject({ url, headers })
      expect([answer.statusCode, answer.json().error]).toEqual([404, 'not_found'])
      // A cache must not give the one in place of the other.
      expect(answer.headers.vary).toBe('accept')
    }
  }
  const receipt = await app.inject({ url: `${place}/receipt`, headers: browser })
  expect(receipt.statusCode).toBe(404)
  await app.close()
})

it('a browser gets JSON where the console is not built', async () => {
  const app = await serve()
  for (const url of addresses) {
    expect((await app.inject({ url, headers: browser })).json().error).toBe('not_found')
  }
  await app.close()
})
