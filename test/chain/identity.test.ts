import {
  type Address,
  createTestClient,
  type Hex,
  http,
  publicActions,
  walletActions,
  zeroAddress,
} from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createRpc, type Rpc } from '../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../src/chain/rpc-errors.js'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { type Anvil, startAnvil } from '../../src/devnet/anvil.js'
import { devnetContracts, placeContracts, readArtifact } from '../../src/devnet/fixtures.js'
import { createIdentityReader } from '../../src/directory/identity/identity-checks.js'
import { IdentityWatch } from '../../src/directory/identity/identity-watch.js'
import { createIdentityRegistry } from '../../src/directory/identity/registry.js'
import type { GuardedFetch } from '../../src/directory/probe/guarded-fetch.js'
import { anEndpoint, openListings } from '../support/directory/listed-merchants.js'
import { runEvery } from '../support/run-every.js'

const registryAddress = devnetContracts.identityRegistry
const { abi } = readArtifact('MockIdentityRegistry')
const owner = devnetMerchant.account
const stranger = devnetPayer.account
const cardUrl = 'https://agent.example/card.json'

let anvil: Anvil
let rpc: Rpc
let client: ReturnType<typeof connect>
let snapshot: Hex

const connect = (url: string) =>
  createTestClient({ mode: 'anvil', transport: http(url), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)

beforeAll(async () => {
  anvil = await startAnvil()
  await placeContracts(anvil.url)
  client = connect(anvil.url)
  rpc = createRpc([anvil.url])
})
afterAll(async () => {
  await rpc.close()
  await anvil.stop()
})
beforeEach(async () => {
  snapshot = await client.snapshot()
})
afterEach(() => client.revert({ id: snapshot }))

async function send(functionName: string, args: unknown[], account = owner) {
  const call = { address: registryAddress, abi, functionName, args, account }
  const { result } = await client.simulateContract(call)
  const hash = await client.writeContract({ ...call, chain: null })
  await client.waitForTransactionReceipt({ hash })
  return result
}

const aRegistry = (address: Address = registryAddress) =>
  createIdentityRegistry({ rpc, registry: address })

function filesOf(agentId: string): GuardedFetch {
  const name = { agentRegistry: `eip155:5042:${registryAddress}`, agentId: Number(agentId) }
  const text = JSON.stringify({ registrations: [name] })
  const known = [cardUrl, 'https://api.example.com/.well-known/agent-registration.json']
  return async ({ url }) => {
    const head = { status: known.includes(url) ? 200 : 404, headers: {} }
    return { kind: 'answer', head, body: text, bodyBytes: text.length }
  }
}

describe('the registry', () => {
  it('is served where a registry of version 2 stands', async () => {
    expect(await aRegistry().refresh()).toEqual({ isServed: true, version: '2.0.0' })
  })

  it('is not served at an address without code, or with the code of something else', async () => {
    expect(await aRegistry(owner.address).isServed()).toBe(false)
    expect(await aRegistry(devnetContracts.usdc).isServed()).toBe(false)
    expect(await aRegistry(devnetContracts.multicall).isServed()).toBe(false)
  })

  it('is not taken to be absent when the node is silent', async () => {
    const deaf = createRpc(['http://127.0.0.1:9'])
    const registry = createIdentityRegistry({ rpc: deaf, registry: registryAddress })
    await expect(registry.isServed()).rejects.toThrow(RpcUnavailableError)
    await expect(registry.readAgent('0', owner.address)).rejects.toThrow(RpcUnavailableError)
    await deaf.close()
  })

  it('gives the first agent the id 0', async () => {
    expect(await aRegistry().readAgent('0', owner.address)).toBeUndefined()
    expect(await send('register', [cardUrl])).toBe(0n)
    expect(await aRegistry().readAgent('0', owner.address)).toEqual({
      owner: owner.address,
      isAuthorized: true,
      wallet: owner.address,
      uri: cardUrl,
    })
  })

  it('distinguishes owner, operators and strangers', async () => {
    await send('register', [])
    const isAuthorized = async () =>
      (await aRegistry().readAgent('0', stranger.address))?.isAuthorized
    expect(await isAuthorized()).toBe(false)
    await send('approve', [stranger.address, 0n])
    expect(await isAuthorized()).toBe(true)
    await send('approve', [zeroAddress, 0n])
    expect(await isAuthorized()).toBe(false)
    await send('setApprovalForAll', [stranger.address, true])
    expect(await isAuthorized()).toBe(true)
  })

  it('shows whom its events are about, each event once', async () => {
    const registry = aRegistry()
    await send('register', [])
    await send('register', [])
    expect((await registry.readChanges()).agentIds).toEqual(new Set(['0', '1']))
    expect((await registry.readChanges()).agentIds).toEqual(new Set())
    await send('setAgentURI', [1n, cardUrl])
    expect((await registry.readChanges()).agentIds).toEqual(new Set(['1']))
    await send('setMetadata', [0n, 'colour', '0x01'])
    expect((await registry.readChanges()).agentIds).toEqual(new Set(['0']))
    await send('setApprovalForAll', [stranger.address, true])
    expect((await registry.readChanges()).operators).toEqual(
      new Set([stranger.address.toLowerCase()]),
    )
  })
})

describe('an agent that a merchant says it is', () => {
  let listings: ReturnType<typeof openListings>
  let watch: IdentityWatch
  let background: ReturnType<typeof runEvery> | undefined

  beforeEach(async () => {
    listings = openListings()
    const registry = aRegistry()
    const now = () => Date.now()
    watch = new IdentityWatch({
      store: listings.store,
      registry,
      readIdentity: createIdentityReader({ registry, fetch: filesOf('0'), now }),
      now,
      log: { info: () => {}, warn: () => {} },
    })
    await listings.write(
      'm',
      {
        kind: 'save',
        merchant: {
          name: 'Merchant',
          description: '',
          network: 'eip155:5042',
          asset: devnetContracts.usdc,
          payTo: owner.address.toLowerCase() as Address,
        },
        endpoints: [anEndpoint()],
      },
      lowerOwner,
    )
  })
  afterEach(async () => {
    watch.stop()
    await background?.stop()
    await listings.close()
  })

  const lowerOwner = owner.address.toLowerCase() as Address
  const link = (agentId: string) => listings.write('m', { kind: 'link', agentId }, lowerOwner)
  const identity = async () => (await listings.store.findMerchant('m'))?.identity
  const passing = async () =>
    Object.fromEntries(
      Object.entries((await identity())?.checks ?? {}).map(([name, { passed }]) => [name, passed]),
    )

  it('passes all four checks, with the id "0"', async () => {
    await send('register', [cardUrl])
    await link('0')
    await watch.checkNow('m')
    expect(await passing()).toEqual({ control: true, pay: true, file: true, domain: true })
    expect(await identity()).toMatchObject({ agentId: '0', registry: registryAddress })
  })

  it('loses control soon after it is transferred, and its wallet with it', async () => {
    await send('register', [cardUrl])
    await link('0')
    await watch.checkNow('m')
    background = runEvery(20, () => watch.look())
    await send('transferFrom', [owner.address, stranger.address, 0n])
    await expect
      .poll(passing, { timeout: 5_000 })
      .toEqual({ control: false, pay: false, file: true, domain: true })
  })
})
