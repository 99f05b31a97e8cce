import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkBuyers } from '../../../../src/app/doctor/chain-checks.js'
import { createRpc, type Rpc } from '../../../../src/chain/rpc.js'
import { readToken, type Token } from '../../../../src/chain/token.js'
import type { Anvil } from '../../../../src/devnet/anvil.js'
import { devnetContracts, mintUsdc } from '../../../../src/devnet/fixtures.js'
import { startChain } from '../../../support/arcus.js'

const [one, other] = [`0x${'a1'.repeat(20)}`, `0x${'a2'.repeat(20)}`] as const

let chain: Anvil
let rpc: Rpc
let dollars: Token
beforeAll(async () => {
  chain = await startChain()
  rpc = createRpc([chain.url])
  const place = { network: 'eip155:5042', chainId: 5042, asset: devnetContracts.usdc }
  dollars = await readToken(rpc, await createKeccak256(), place)
})
afterAll(async () => {
  await rpc.close()
  await chain.stop()
})

it('names the wallets of paid checks that cannot pay, and says when nothing is bought', async () => {
  const look = (wallets: readonly `0x${string}`[]) => checkBuyers(rpc, dollars, wallets, 50_000n)
  expect(await look([])).toEqual([])
  expect(await checkBuyers(rpc, undefined, [one], 1n)).toMatchObject([
    { state: 'warn', detail: 'no dollars are settled: nothing is bought' },
  ])
  const fix = 'Send USDC on this network to the wallets named.'
  expect(await look([one, other])).toMatchObject([
    {
      state: 'warn',
      name: 'wallets of paid checks',
      fix,
      detail: `none can pay 0.05, so nothing is bought: ${one} holds 0 USDC: fund it; ${other} holds 0 USDC: fund it`,
    },
  ])
  await mintUsdc(chain.url, one, 49_999n)
  await mintUsdc(chain.url, other, 50_000n)
  expect(await look([one, other])).toMatchObject([
    { state: 'warn', detail: `${one} holds 0.049999 USDC: fund it; ${other} holds 0.05 USDC` },
  ])
  await mintUsdc(chain.url, one, 1n)
  expect(await look([one, other])).toMatchObject([{ state: 'ok' }])
})
