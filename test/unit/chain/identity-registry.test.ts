import {
  type Abi,
  type Address,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import { afterEach, expect, it } from 'vitest'
import { readAgent } from '../../../src/chain/identity-registry.js'
import { createRpc } from '../../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'
import { createIdentityRegistry } from '../../../src/directory/identity/registry.js'
import { aNode, type Behaviour } from './a-node.js'

const registry: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
const owner: Address = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const abi: Abi = parseAbi([
  'function getVersion() view returns (string)',
  'function isAuthorizedOrOwner(address, uint256) view returns (bool)',
  'function ownerOf(uint256) view returns (address)',
  'function getAgentWallet(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
])
const revert = { code: 3, message: 'execution reverted: no' }

type Said = { result: unknown } | { error: { code: number; message: string } }
const value = (functionName: string, result: unknown): Said => ({
  result: encodeFunctionResult({ abi, functionName, result }),
})
const whole: Record<string, Said> = {
  getVersion: value('getVersion', '2.0.0'),
  isAuthorizedOrOwner: value('isAuthorizedOrOwner', true),
  ownerOf: value('ownerOf', owner),
  getAgentWallet: value('getAgentWallet', owner),
  tokenURI: value('tokenURI', 'https://agent.example/'),
}

/** Answers the registry's calls by name. */
function answering(answers: Record<string, Said>): Behaviour {
  const bySelector = new Map(
    abi.flatMap((item) =>
      item.type === 'function' ? [[toFunctionSelector(item), answers[item.name]] as const] : [],
    ),
  )
  const answer = (method: string, [call]: unknown[]): Said | undefined => {
    if (method !== 'eth_call') return answers[method] ?? { result: '0x6000' }
    return bySelector.get((call as { data: Hex }).data.slice(0, 10) as Hex)
  }
  return (calls) => {
    const said = calls.map(({ id, method, params }) => ({
      jsonrpc: '2.0',
      id,
      ...answer(method, params),
    }))
    return said.length === 1 ? said[0] : said
  }
}

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function open(behaviour: Behaviour) {
  const node = await aNode(behaviour)
  const rpc = createRpc([node.url])
  closers.push(node.close, rpc.close)
  return { rpc, node }
}

const agentOf = async (answers: Record<string, Said>) =>
  readAgent((await open(answering({ ...whole, ...answers }))).rpc, registry, 0n, owner)

it('reads other reverts as values that are not set', async () => {
  const answers = { getAgentWallet: { error: revert }, tokenURI: { error: revert } }
  expect(await agentOf(answers)).toMatchObject({ wallet: `0x${'0'.repeat(40)}`, uri: '' })
})

it.each([
  ['an error that is no revert', { error: { code: -32601, message: 'no such method' } }],
  ['nothing at all', { result: '0x' }],
  ['half a word', { result: `0x${'f'.repeat(32)}` }],
])('reads %s as a chain that cannot be read, not as an unknown id', async (_, said) => {
  await expect(agentOf({ ownerOf: said })).rejects.toThrow(RpcUnavailableError)
})

it('reads a URI of 96 KiB and none that is longer', async () => {
  const uriOf = async (bytes: number) =>
    (await agentOf({ tokenURI: value('tokenURI', 'x'.repeat(bytes)) }))?.uri
  expect(await uriOf(96 * 1024)).toHaveLength(96 * 1024)
  expect(await uriOf(96 * 1024 + 64)).toBeNull()
})

it('does not serve a registry of another major version', async () => {
  const { rpc } = await open(answering({ ...whole, getVersion: value('getVersion', '3.0.0') }))
  expect(await createIdentityRegistry({ rpc, registry }).isServed()).toBe(false)
})

it('asks a node that bounds the range of a log query for less, and reads every block once', async () => {
  const asked: [number, number][] = []
  const { rpc } = await open((calls) => {
    const [{ id, method, params }] = calls as [(typeof calls)[0]]
    const answer = (said: Said) => ({ jsonrpc: '2.0', id, ...said })
    if (method === 'eth_getBlockByNumber') {
      return answer({ result: { number: '0x4e20', timestamp: '0x1' } })
    }
    const { fromBlock, toBlock } = params[0] as Record<string, string>
    const range: [number, number] = [Number(fromBlock), Number(toBlock)]
    if (range[1] - range[0] >= 2_000) {
      return answer({ error: { code: -32602, message: 'range too wide' } })
    }
    asked.push(range)
    return answer({ result: [] })
  })
  await createIdentityRegistry({ rpc, registry }).readChanges()
  asked.sort(([a], [b]) => a - b)
  expect(asked[0]?.[0]).toBe(0)
  expect(asked.at(-1)?.[1]).toBe(20_000)
  asked.slice(1).forEach(([from], i) => {
    expect(from).toBe((asked[i]?.[1] ?? 0) + 1)
  })
})
