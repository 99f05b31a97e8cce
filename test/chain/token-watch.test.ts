import { createKeccak256, type Keccak256 } from '@arcus/protocol/x402/keccak'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createReadinessChecks, type ReadyNetwork } from '../../src/app/doctor/readiness.js'
import { createRpc, type Rpc } from '../../src/chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import { readToken, watchToken } from '../../src/chain/token.js'
import type { Anvil } from '../../src/devnet/anvil.js'
import { devnetContracts, placeContracts } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { startChain } from '../support/arcus.js'
import { unexpected } from '../support/unexpected.js'

let anvil: Anvil
let rpc: Rpc
let keccak256: Keccak256
const place = { network: 'eip155:5042', chainId: 5042, asset: devnetContracts.usdc } as const

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

it('reports at once, in readiness as well, that a sound token is not the pinned one', async () => {
  const token = { ...(await readToken(rpc, keccak256, place)), name: 'Another' }
  const watch = watchToken(rpc, keccak256, token, { error: () => {} })
  const served: ReadyNetwork = {
    ...place,
    rpc,
    readTokens: [watch.read],
    relayer: { addresses: [devnetContracts.usdc], lanes: () => [] },
    feePerGas: () => undefined,
    readRunway: unexpected,
  }
  const disk = { isLow: () => false, freeBytes: () => undefined }
  const leases = { isShared: false, isRenewed: () => true, ageMs: () => undefined }
  const [, chain] = createReadinessChecks({
    journal: { isWritable: unexpected },
    leases,
    isServer: false,
    disk,
    networks: [served],
    directory: undefined,
  })
  const said = 'the token is now "USDC" version "2", pinned was "Another" version "2"'
  expect(await chain?.check()).toEqual({ ok: false, detail: expect.stringContaining(said) })
  expect(watch.mismatch()?.message).toContain(said)
  watch.stop()
})

it('takes a node that answers with errors for no other chain and no other token', async () => {
  const broken = createRpc([anvil.url])
  const error = new RpcResponseError(-32000, 'missing trie node', undefined)
  broken.batch = async (calls) => calls.map(() => ({ ok: false, error }))
  await expect(readToken(broken, keccak256, place)).rejects.toThrow(RpcUnavailableError)
  await broken.close()
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
