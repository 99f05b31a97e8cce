import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBuyer } from '@arcus/client'
import { createFileLedger } from '@arcus/client/ledger-file'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { BatchSettlementEvmScheme, InMemoryChannelStorage } from '@x402/evm/batch-settlement/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetContracts, mintUsdc, tokenBalance } from '../../src/devnet/fixtures.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'
import { bundleClientCommand } from '../support/client-command.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-dying-buyers-'))
const network = 'eip155:5042'
const asset = devnetContracts.usdc
const MINTED = 10_000_000n
const DEPOSIT = 200_000n

let script: string
let world: World
let server: Server
let shop: string
const storage = new InMemoryChannelStorage()
let served = 0

beforeAll(async () => {
  script = await bundleClientCommand(folder, 'test/faults/support/dying-buyer.ts')
  world = await startWorld()
  const facilitator = new HTTPFacilitatorClient({ url: world.url })
  const scheme = new BatchSettlementEvmScheme(anAccount().address, {
    receiverAuthorizerSigner: anAccount(),
    storage,
  })
  const resources = new x402ResourceServer(facilitator).register(network, scheme)
  const price = { amount: '10000', asset, extra: { name: 'USDC', version: '2' } }
  const payTo = anAccount().address
  const accepts = {
    scheme: 'batch-settlement',
    network,
    payTo,
    price,
    maxTimeoutSeconds: 60,
  } as const
  const app = express()
  app.use(paymentMiddleware({ 'GET /paid': { accepts } }, resources))
  app.get('/paid', (_, response) => {
    served++
    response.json({ goods: true })
  })
  server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  shop = `http://127.0.0.1:${(server.address() as AddressInfo).port}/paid`
})
afterAll(async () => {
  vi.useRealTimers()
  server.close()
  server.closeAllConnections()
  await world.stop()
  rmSync(folder, { recursive: true })
})

/** Runs a buyer of five calls. Resolves to the signal by which it died, if it did. */
function run(key: string, ledger: string, moment: readonly string[]): Promise<string | null> {
  const args = [script, world.url, shop, world.chainUrl, ledger, ...moment]
  const env = { PATH: process.env.PATH, PAYER_PRIVATE_KEY: key }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  return new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
}

describe('a buyer that is killed while it pays by channel', () => {
  it.each([
    ['before', 'reserved', '1'],
    ['after', 'reserved', '1'],
    // Of the deposit, then of the voucher that goes with it.
    ['signature', '', '1'],
    ['signature', '', '2'],
    ['before', 'signed', '1'],
    ['after', 'signed', '1'],
    ['before', 'settled', '1'],
    ['after', 'settled', '1'],
    ['after', 'charged', '1'],
    ['before', 'drawn', '1'],
    ['after', 'drawn', '2'],
    ['signature', '', '4'],
    ['before', 'charged', '3'],
    ['after', 'charged', '3'],
  ])('%s %s %s loses no money and no count', async (...moment) => {
    const key = generatePrivateKey()
    const account = privateKeyToAccount(key)
    await mintUsdc(world.chainUrl, account.address, MINTED)
    const gone = async () => MINTED - (await tokenBalance(world.chainUrl, asset, account.address))
    const path = join(folder, `${moment.join('-')}.jsonl`)
    served = 0
    expect(await run(key, path, moment)).toBe('SIGKILL')

    const buyer = createBuyer({
      url: world.url,
      signer: account,
      limits: { perCall: '$0.05', perDay: '$1' },
      ledger: createFileLedger(path),
      rpcUrl: world.chainUrl,
      channels: { deposit: DEPOSIT },
    })
    const counted = async () => 1_000_000n - (await buyer.spent()).left.perDay
    expect(await counted()).toBeGreaterThanOrEqual(await gone())
    expect(await counted()).toBeLessThanOrEqual(DEPOSIT)
    // By now the dead one is given up.
    vi.setSystemTime(Date.now() + 61_000)
    const isLost = moment[0] === 'after' && moment[1] === 'signed'
    let bought = 0
    const codes: string[] = []
    for (let n = 0; n < 5; n++) {
      await buyer.pay(`${shop}?again=${n}`).then(
        ({ cost, isDecided, response }) => {
          expect([cost, isDecided, response.status]).toEqual([10_000n, true, 200])
          bought++
        },
        (error) => codes.push(error.code),
      )
    }
    if (isLost) {
      // The deposit was signed and never sent. It counts until the chain can no longer take it.
      expect([bought, await gone(), await counted()]).toEqual([0, 0n, DEPOSIT])
      vi.useRealTimers()
      return
    }
    // One call may be refused, to say that an answer was lost which was charged.
    expect(codes).toEqual(codes.slice(0, 1).map(() => 'outcome_unknown'))
    expect(bought).toBe(5 - codes.length)
    expect(await gone()).toBe(DEPOSIT)
    expect(await counted()).toBe(DEPOSIT)
    for (const { channelConfig, signedMaxClaimable } of await storage.list()) {
      if (channelConfig.payer !== account.address) continue
      expect(BigInt(signedMaxClaimable)).toBe(BigInt(served) * 10_000n)
    }
    expect(await buyer.closeChannels()).toMatchObject([{ left: 0n }])
    expect(await gone()).toBe(BigInt(served) * 10_000n)
    expect(await counted()).toBe(await gone())
    vi.useRealTimers()
  })
})

it('three processes on one ledger share one channel, one call at a time', async () => {
  const key = generatePrivateKey()
  const account = privateKeyToAccount(key)
  await mintUsdc(world.chainUrl, account.address, MINTED)
  const path = join(folder, 'shared.jsonl')
  served = 0
  const ends = await Promise.all([1, 2, 3].map(() => run(key, path, [])))
  expect(ends).toEqual([null, null, null])
  expect(served).toBe(15)
  expect(await tokenBalance(world.chainUrl, asset, account.address)).toBe(MINTED - DEPOSIT)
  const own = (await storage.list()).filter((it) => it.channelConfig.payer === account.address)
  expect(own).toMatchObject([{ chargedCumulativeAmount: '150000', signedMaxClaimable: '150000' }])
  const limits = { perCall: '$0.05', perDay: '$1' }
  const buyer = createBuyer({ signer: account, limits, ledger: createFileLedger(path) })
  expect(await buyer.spent()).toMatchObject({
    left: { perDay: 1_000_000n - DEPOSIT },
    channels: [{ calls: 15, charged: 150_000n, left: 50_000n }],
  })
})
