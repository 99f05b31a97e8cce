import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRpc, type Rpc } from '../../src/chain/rpc.js'
import { readToken } from '../../src/chain/token.js'
import { watchToken } from '../../src/chain/token-watch.js'
import type { Anvil } from '../../src/devnet/anvil-process.js'
import { devnetContracts, placeContracts } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { createKeccak256, type Keccak256 } from '../../src/x402/keccak.js'
import { startChain } from '../support/arcus.js'

let anvil: Anvil
let rpc: Rpc
let keccak256: Keccak256
const place = { network: 'eip155:5042', chainId: 5042, asset: devnetContracts.usdc }

beforeAll(async () => {
  anvil = await startChain()
  rpc = createRpc([anvil.url])
  keccak256 = await createKeccak256()
})
afterAll(async () => {
  await rpc.close()
  await anvil.stop()
})

it('notices when the token changes under it, and when it is itself again', async () => {
  const said: string[] = []
  const log = { error: (_details: object, message: string) => said.push(message) }
  const token = await readToken(rpc, keccak256, place)
  const watch = watchToken(rpc, keccak256, token, log, 20)
  try {
    expect(watch.mismatch()).toBeUndefined()
    await call(anvil.url, 'anvil_setCode', [devnetContracts.usdc, '0x'])
    await expect.poll(() => watch.mismatch()?.message).toMatch(/no contract at asset/)
    await placeContracts(anvil.url)
    await expect.poll(() => watch.mismatch()).toBeUndefined()
    expect(said.length).toBeGreaterThan(0)
  } finally {
    watch.stop()
  }
})

it('is not disturbed by a chain that cannot be read', async () => {
  const deaf = createRpc(['http://127.0.0.1:9'])
  const token = await readToken(rpc, keccak256, place)
  const watch = watchToken(deaf, keccak256, token, { error: () => expect.unreachable() }, 10)
  await new Promise((resolve) => setTimeout(resolve, 200))
  watch.stop()
  expect(watch.mismatch()).toBeUndefined()
  await deaf.close()
})

it('refuses a chain or an asset that is not what the settings say', async () => {
  await expect(readToken(rpc, keccak256, { ...place, chainId: 1 })).rejects.toThrow(/chain id 5042/)
  const asset = devnetContracts.multicall
  await expect(readToken(rpc, keccak256, { ...place, asset })).rejects.toThrow(/EIP-712 domain/)
})
