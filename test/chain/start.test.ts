import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { compose } from '../../src/app/compose.js'
import { createLogger } from '../../src/app/logger.js'
import { readSettings } from '../../src/config/config.js'
import { devnetRelayers } from '../../src/devnet/accounts.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { dropped } from '../faults/support/behaviours.js'
import { type RpcProxy, startRpcProxy } from '../faults/support/rpc-proxy.js'
import { startChain } from '../support/arcus.js'

let anvil: Anvil
let proxy: RpcProxy
const folder = mkdtempSync(join(tmpdir(), 'arcus-start-'))

beforeAll(async () => {
  anvil = await startChain()
  proxy = await startRpcProxy(anvil.url)
})
afterAll(async () => {
  await proxy.close()
  await anvil.stop()
  rmSync(folder, { recursive: true })
})

it('stops everything when it could not start, and starts when it is tried again', async () => {
  const log = createLogger({ level: 'silent' })
  const { config, secrets } = readSettings({
    MAINNET_RPC_URLS: proxy.url,
    RELAYER_PRIVATE_KEYS: devnetRelayers[0]?.privateKey,
    DATABASE_URL: `sqlite:${join(folder, 'arcus.db')}`,
  })
  // The last thing a start asks for: the block feed already runs by then.
  const lift = proxy.fault('eth_getTransactionCount', dropped)
  await expect(compose(config, secrets, log)).rejects.toThrow('chain')
  expect(proxy.count('eth_getBlockByNumber')).toBeGreaterThan(0)
  const asked = proxy.count('eth_getBlockByNumber')
  await new Promise((resolve) => setTimeout(resolve, 1_300))
  expect(proxy.count('eth_getBlockByNumber')).toBe(asked)

  lift()
  const arcus = await compose(config, secrets, log)
  await expect.poll(() => proxy.count('eth_getBlockByNumber')).toBeGreaterThan(asked)
  await arcus.app.close()
  await arcus.close()
})
