import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { channelContracts } from '@arcus/protocol/x402/address'
import { reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { aChannel, aClaimOf, type BatchBody, fillChannels } from '../support/a-channel.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

/** Rows of a claim, the most that are taken. */
const ROWS = 150
const LIMIT = 1_000

let world: World
let node: Server
/** The calls of the settlement contract that the node was asked for, by selector. */
let asked: string[] = []

beforeAll(async () => {
  world = await startWorld({
    env: { RATE_LIMIT_MAX: String(LIMIT), TRUST_PROXY: 'true' },
    async between(chainUrl) {
      node = await aListeningNode(chainUrl)
      return `http://127.0.0.1:${(node.address() as AddressInfo).port}`
    },
  })
})
beforeEach(() => {
  asked = []
})
afterAll(async () => {
  await world.stop()
  node.closeAllConnections()
  node.close()
})

/** Passes requests on, and notes the calls of contracts. */
async function aListeningNode(chainUrl: string): Promise<Server> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    for (const { method, params } of [JSON.parse(body)].flat()) {
      const { to, data } = method === 'eth_call' ? params[0] : {}
      if (to?.toLowerCase() === channelContracts.settlement) asked.push(data.slice(0, 10))
    }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(chainUrl, { method: 'POST', headers, body })
    response.writeHead(answer.status, headers).end(await answer.text())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

let callers = 0
const aCaller = () => `198.51.100.${++callers}`
const settle = (body: BatchBody, caller: string) =>
  world.post('/settle', body, { 'x-forwarded-for': caller })

function anInventedClaim(): Promise<BatchBody> {
  const [receiver, authorizer] = [anAccount().address, anAccount()]
  const channels = Array.from({ length: ROWS }, () => aChannel({ receiver, authorizer }))
  return aClaimOf(channels, '900000')
}

/** Selector of channels(bytes32) of the settlement contract. */
const CHANNELS = '0x7a7ebd7b'

it('a claim that its authorizer did not sign costs the chain no call', async () => {
  const claim = await anInventedClaim()
  claim.paymentPayload.payload.claimAuthorizerSignature = `0x${'ab'.repeat(64)}1b`
  const { body } = await settle(claim, aCaller())
  expect(body).toMatchObject({ errorReason: reasons.batchClaimSimulationFailed.code })
  expect(body.errorMessage).toMatch(/not signed by its authorizer/)
  expect(asked).toEqual([])
})

it('a claim of channels that nobody filled is read once, and not simulated', async () => {
  const { body } = await settle(await anInventedClaim(), aCaller())
  expect(body).toMatchObject({ errorReason: reasons.batchClaimSimulationFailed.code })
  expect(body.errorMessage).toMatch(/ClaimExceedsBalance/)
  expect(new Set(asked)).toEqual(new Set([CHANNELS]))
  expect(asked).toHaveLength(ROWS)
})

it('each row is charged, so that few such claims fill an allowance', async () => {
  const claim = await anInventedClaim()
  claim.paymentPayload.payload.claimAuthorizerSignature = `0x${'ab'.repeat(64)}1b`
  const caller = aCaller()
  const statuses = []
  for (let i = 0; i < 10; i++) statuses.push((await settle(claim, caller)).status)
  const points = 1 + ROWS + JSON.stringify(claim).length / 4_096
  const letIn = statuses.filter((status) => status !== 429).length
  expect(letIn).toBe(Math.ceil(LIMIT / points))
})

it('a true claim of as many rows costs its caller nothing', async () => {
  const [receiver, authorizer] = [anAccount().address, anAccount()]
  const channels = Array.from({ length: 20 }, () => aChannel({ receiver, authorizer }))
  await fillChannels(world.chainUrl, channels, 1_000_000n)
  const caller = aCaller()
  const answer = await settle(await aClaimOf(channels, '900000'), caller)
  expect(answer.body).toMatchObject({ success: true })
  const next = await world.post('/verify', {}, { 'x-forwarded-for': caller })
  expect(next.headers.get('ratelimit')).toMatch(new RegExp(`r=${LIMIT - 1};`))
})
