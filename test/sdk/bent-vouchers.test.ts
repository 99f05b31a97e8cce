import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { BatchSettlementEvmScheme as BuyerScheme } from '@x402/evm/batch-settlement/client'
import {
  type BatchSettlementChannelManager,
  type ChannelStorage,
  InMemoryChannelStorage,
  BatchSettlementEvmScheme as MerchantScheme,
} from '@x402/evm/batch-settlement/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import ts from 'typescript'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { devnetContracts, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { type Bend, bendingAccount } from '../support/bent-signature.js'
import { payingBy } from '../support/paying.js'

const network = 'eip155:5042'
const asset = devnetContracts.usdc
const PRICE = 1_000n

let world: World
let merchant: Server
let url: string
let manager: BatchSettlementChannelManager
let storage: ChannelStorage
let receiver: `0x${string}`

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.stop())

/** The official middleware and channel manager, with an authorizer's key that may sign in another form as well. */
async function openMerchant(authorizer: PrivateKeyAccount = anAccount()): Promise<void> {
  const facilitator = new HTTPFacilitatorClient({ url: world.url })
  receiver = anAccount().address
  storage = new InMemoryChannelStorage()
  const scheme = new MerchantScheme(receiver, { receiverAuthorizerSigner: authorizer, storage })
  manager = scheme.createChannelManager(facilitator, network, asset)
  const resources = new x402ResourceServer(facilitator).register(network, scheme)
  runDocumented(/resources\.onBeforeVerify[\s\S]*?\n\}\)\n/, { resources })
  const extra = { name: 'USDC', version: '2', minDeposit: '200000' }
  const price = { amount: String(PRICE), asset, extra }
  const accepts = { scheme: 'batch-settlement', network, payTo: receiver, price } as const
  const app = express()
  app.use(paymentMiddleware({ 'GET /paid': { accepts, description: 'works' } }, resources))
  app.get('/paid', (_request, response) => void response.json({ goods: true }))
  await new Promise<void>((resolve) => {
    merchant = app.listen(0, '127.0.0.1', () => resolve())
  })
  url = `http://127.0.0.1:${(merchant.address() as AddressInfo).port}/paid`
}

beforeEach(({ onTestFinished }) => {
  onTestFinished(() => {
    merchant?.close()
    merchant?.closeAllConnections()
  })
})

/** Runs a part of the sample that docs/schemes.md gives merchants. */
function runDocumented(part: RegExp, given: Record<string, unknown>): unknown {
  const [text] = part.exec(readFileSync('docs/schemes.md', 'utf8')) ?? []
  if (text === undefined) throw new Error('the sample has no such part')
  const [, name] = /^async function (\w+)/.exec(text) ?? []
  const code = name === undefined ? text : `${text}\nreturn ${name}`
  const script = ts.transpile(code, { target: ts.ScriptTarget.ES2022 })
  return new Function(...Object.keys(given), script)(...Object.values(given))
}

type Bends = Parameters<typeof bendingAccount>[2]

/** A buyer with money, whose signatures come in another form where `isBent`. */
async function aBuyer(how: Bend, isBent: Bends) {
  const account = anAccount()
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const scheme = new BuyerScheme(bendingAccount(account, how, isBent))
  const pay = payingBy(scheme)
  return { account, scheme, call: async () => (await pay(url)).status }
}

const earned = () => usdcBalance(world.chainUrl, receiver)

it.each(['v of 0 or 1', 'a high s', 'a high s and v of 0 or 1'] as const)(
  'a buyer whose every signature has %s pays, and has the rest back',
  async (how) => {
    await openMerchant(bendingAccount(anAccount(), how))
    const { account, call, scheme } = await aBuyer(how, () => true)
    for (let i = 0; i < 3; i++) expect(await call()).toBe(200)
    await manager.claim()
    expect(await call()).toBe(200)
    await scheme.refund(url)
    expect(await usdcBalance(world.chainUrl, account.address)).toBe(1_000_000n - 4n * PRICE)
    await manager.settle()
    expect(await earned()).toBe(4n * PRICE)
  },
)

it('the claims of the documented sample skip a channel that cannot be claimed, and report it', async () => {
  await openMerchant()
  for (let i = 0; i < 3; i++) {
    const { call } = await aBuyer('v of 0 or 1', () => false)
    expect(await call()).toBe(200)
  }
  const [broken] = await storage.list()
  await storage.updateChannel(
    broken?.channelId as string,
    (it) => it && { ...it, signature: `0x${'ab'.repeat(64)}1b` },
  )
  const said: unknown[] = []
  const onError = (what: string) => () => said.push(what)
  const claimAll = runDocumented(/async function claimAll[\s\S]*?\n\}\n/, {
    storage,
    manager,
    onError,
  }) as () => Promise<void>
  await claimAll()
  expect(said).toEqual([`not claimed: ${broken?.channelId}`])
  expect(await earned()).toBe(2n * PRICE)
  // Nothing is due now, of which nothing is said.
  await claimAll()
  expect(said).toHaveLength(2)
})

it('a voucher that the official package stores in another spelling is claimed all the same', async () => {
  await openMerchant()
  const { call } = await aBuyer('v of 0 or 1', () => false)
  for (let i = 0; i < 2; i++) expect(await call()).toBe(200)
  const [kept] = await storage.list()
  if (kept === undefined) throw new Error('no channel was kept')
  // The very channel and the very amount, as the official package reads them.
  const salt = kept.channelConfig.salt.slice(0, -1) as `0x${string}`
  const channelConfig = { ...kept.channelConfig, salt }
  const signedMaxClaimable = ` 0x${(2n * PRICE).toString(16)} `.trim()
  await storage.updateChannel(kept.channelId, () => ({
    ...kept,
    channelConfig,
    signedMaxClaimable,
  }))
  await manager.claim()
  await manager.settle()
  expect(await earned()).toBe(2n * PRICE)
})
