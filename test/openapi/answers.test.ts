import { afterAll, beforeAll, expect, it } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { aSignedWrite, signInTo } from '../support/a-directory.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startMerchant, startService, type TestService } from './a-service.js'
import { createAnswerCheck, operationsOf } from './described.js'

let service: TestService
let merchant: Awaited<ReturnType<typeof startMerchant>>

beforeAll(async () => {
  service = await startService()
  merchant = await startMerchant()
})
afterAll(async () => {
  await merchant.close()
  await service.close()
})

const owner = devnetMerchant

async function save(body: object, revision: number) {
  const { audience, time } = (await service.app.inject('/api/signing')).json()
  const place = { audience, merchantId: 'penny-quotes', payTo: owner.address }
  const times = { issuedAt: time.now, deadline: time.now + 300 }
  const action = revision === 1 ? 'listing.create' : 'listing.update'
  const message = { ...place, ...times, revision }
  return aSignedWrite(owner.account as never, { action, body, message })
}

it('describes every answer about a listing, its payments and its owner', async () => {
  const check = createAnswerCheck(service.document)
  const described = new Map(
    operationsOf(service.document).map((it) => [it.operation.operationId, it]),
  )
  const problems: string[] = []

  async function ask(id: string, url: string, more: object = {}, status = 200) {
    const operation = described.get(id)
    if (operation === undefined) throw new Error(`${id} is not described`)
    const answer = await service.app.inject({ method: operation.method as 'GET', url, ...more })
    const problem =
      check.problemOf(operation, answer) ??
      (answer.statusCode === status ? undefined : `${answer.statusCode} ${answer.body}`)
    if (problem !== undefined) problems.push(`${id}: ${problem}`)
    return answer
  }

  const listing = {
    name: 'Penny quotes',
    payTo: owner.address,
    endpoints: [
      {
        url: `${merchant.url}/quote`,
        method: 'GET',
        title: 'A quote',
        price: '10000',
        tags: ['words'],
        example: { queryParams: { topic: 'money' } },
        inputSchema: { type: 'object', properties: { topic: { type: 'string' } } },
        output: { type: 'json', example: { quote: '…' } },
      },
      { url: `${merchant.url}/gone`, method: 'POST', title: 'Dearer than it says', price: '1' },
    ],
  }
  await ask('saveMerchant', '/api/merchants/penny-quotes', { payload: await save(listing, 1) }, 201)
  await ask('saveMerchant', '/api/merchants/penny-quotes', { payload: await save(listing, 2) })
  const stale = { payload: await save(listing, 2) }
  await ask('saveMerchant', '/api/merchants/penny-quotes', stale, 409)
  const wrong = { payload: await save({ name: 7 }, 3) }
  await ask('saveMerchant', '/api/merchants/penny-quotes', wrong, 400)

  const payment = await aSignedPayment()
  Object.assign(payment.paymentPayload, { resource: { url: `${merchant.url}/quote` } })
  await ask('verifyPayment', '/verify', { payload: payment })
  await ask('settlePayment', '/settle', { payload: payment })
  await ask('settlePayment', '/settle', { payload: payment })
  const { from, nonce } = payment.paymentPayload.payload.authorization
  await ask('getPayment', `/payments/eip155:5042/${from}/${nonce}`)

  const found = await ask('listResources', '/discovery/resources?merchant=penny-quotes')
  expect(found.json().items).toHaveLength(2)
  await ask('searchResources', '/discovery/search?query=quote')
  await ask('searchResources', '/discovery/search?query=qoute')
  await ask('listChanges', '/discovery/changes')
  await ask('listMerchants', '/api/merchants')
  await ask('getMerchant', '/api/merchants/penny-quotes')
  await ask('getMerchantHistory', '/api/merchants/penny-quotes/history')
  await ask('getMerchantOpenApi', '/api/merchants/penny-quotes/openapi.json')
  await ask('getMerchantLlmsText', '/api/merchants/penny-quotes/llms.txt')
  await ask('probeMerchant', '/api/merchants/penny-quotes/probe')
  await ask('validateEndpoint', '/discovery/validate', {
    payload: { url: `${merchant.url}/other`, method: 'GET' },
  })
  await ask('getMerchantStats', '/api/merchants/penny-quotes/stats')
  await ask('getStats', '/api/stats')

  const headers = { cookie: await signInTo(service.app, owner.account, { ms: Date.now() }) }
  await ask('getSession', '/api/session', { headers })
  await ask('getActivity', '/api/merchants/penny-quotes/activity', { headers })
  const table = '/api/merchants/penny-quotes/activity/table'
  const rows = await ask('listActivity', table, { headers })
  expect(rows.json().items.length).toBeGreaterThan(0)
  await ask('exportActivity', '/api/merchants/penny-quotes/activity.csv', { headers })
  await ask('listActivity', `${table}?colour=red`, { headers }, 400)
  expect(problems).toEqual([])
})
