import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { expect, it, onTestFinished, vi } from 'vitest'
import { devnetBuyback, devnetHost, devnetRelayers } from '../../src/devnet/accounts.js'
import { clearCode, devnetContracts, mintUsdc, placeContracts } from '../../src/devnet/fixtures.js'
import { freePort } from '../../src/devnet/process.js'
import { call } from '../../src/devnet/rpc.js'
import { anAccount } from '../support/an-account.js'
import { startChain } from '../support/arcus.js'
import { payingBy } from '../support/paying.js'
import { startService } from './support/service.js'

const preload = `--import ${new URL('./support/quick-minutes.mjs', import.meta.url)}`
const WITHIN = { timeout: 90_000, interval: 200 }

it('contracts that are deployed while the service runs are offered without a restart, and listed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-hosted-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const chain = await startChain()
  onTestFinished(() => chain.stop())
  const { erc3009Collector, uptoPermit2Proxy } = devnetContracts
  const uptoCode = await call(chain.url, 'eth_getCode', [uptoPermit2Proxy, 'latest'])
  await clearCode(chain.url, [erc3009Collector, uptoPermit2Proxy])
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const arcus = await startService({
    port,
    rpcUrls: [chain.url],
    relayerKeys: devnetRelayers.map(({ privateKey }) => privateKey),
    databaseUrl: `sqlite:${join(folder, 'arcus.db')}`,
    env: {
      BASE_URL: url,
      HOSTED_PRIVATE_KEY: devnetHost.privateKey,
      HOSTED_CLAIM_SECONDS: '3600',
      BUYBACK_ADDRESS: devnetBuyback.address,
      NODE_OPTIONS: preload,
    },
  })
  onTestFinished(() => arcus.stop())
  const asked = async () => {
    const response = await fetch(`${url}/hosted/fees`)
    return decodePaymentRequiredHeader(response.headers.get('PAYMENT-REQUIRED') as string).accepts
  }
  const listed = async () => {
    const response = await fetch(`${url}/discovery/resources?merchant=arcus`)
    const { items } = (await response.json()) as { items: { accepts: object[] }[] }
    return items.map(({ accepts }) => accepts.length)
  }
  expect(await asked()).toMatchObject([{ scheme: 'exact' }])
  await vi.waitUntil(async () => (await listed()).join() === '1,1', WITHIN)
  // The metered endpoint is sold by upto as well, once its proxy is there.
  await call(chain.url, 'anvil_setCode', [uptoPermit2Proxy, uptoCode])
  await vi.waitUntil(async () => (await listed()).join() === '2,1', WITHIN)
  // Nothing is claimed where nothing can be.
  expect(arcus.log().filter((line) => line.includes('not claimed'))).toEqual([])

  await placeContracts(chain.url)
  await vi.waitUntil(async () => (await asked()).length === 2, WITHIN)
  expect(await asked()).toMatchObject([{ scheme: 'exact' }, { scheme: 'batch-settlement' }])
  await vi.waitUntil(async () => (await listed()).join() === '3,2', WITHIN)
  const account = anAccount()
  await mintUsdc(chain.url, account.address, 1_000_000n)
  const client = new BatchSettlementEvmScheme(account)
  const pay = payingBy(client)
  expect((await pay(`${url}/hosted/fees`)).status).toBe(200)
}, 240_000)
