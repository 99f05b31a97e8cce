import { encodeAbiParameters, encodeErrorResult, type Hex, parseAbi } from 'viem'
import { describe, expect, it, vi } from 'vitest'
import { answered, asked, createChainClient, unlessReverted } from '../../../src/chain/client.js'
import type { RpcCall, RpcResult } from '../../../src/chain/rpc.js'
import { RpcResponseError, RpcUnavailableError } from '../../../src/chain/rpc-errors.js'

const address = '0x00000000000000000000000000000000000000a1'
const abi = parseAbi(['function name() view returns (string)'])
const name = { address, abi, functionName: 'name' } as const
const text = encodeAbiParameters([{ type: 'string' }], ['USDC'])

/** A client whose nodes answer every call so; `batches` has the calls of each round trip. */
function aClient(answer: (call: RpcCall) => RpcResult) {
  const batches: string[][] = []
  const client = createChainClient({
    async batch(calls) {
      batches.push(calls.map(({ method }) => method))
      return calls.map(answer)
    },
  })
  return { client, batches }
}

const says = (value: unknown) => aClient(() => ({ ok: true, value })).client
const refuses = (code: number, message: string, data?: Hex) =>
  aClient(() => ({ ok: false, error: new RpcResponseError(code, message, data) })).client

it('sends reads that are made together in one batch', async () => {
  const { client, batches } = aClient(({ method }) => ({
    ok: true,
    value: method === 'eth_call' ? text : '0x7',
  }))
  const reads = [client.getChainId(), client.getBalance({ address }), client.readContract(name)]
  expect(await Promise.all(reads)).toEqual([7, 7n, 'USDC'])
  expect(batches.map((calls) => calls.toSorted())).toEqual([
    ['eth_call', 'eth_chainId', 'eth_getBalance'],
  ])
})

describe('a read of a contract', () => {
  it.each([
    ['a code', refuses(3, 'execution reverted: no')],
    ['a wording', refuses(-32000, 'execution reverted')],
  ])('that reverts, by %s, has no value', async (_, client) => {
    expect(await unlessReverted(client.readContract(name), 'it')).toBeUndefined()
    expect(await answered(client.readContract(name), 'it')).toBeUndefined()
    await expect(asked(client.readContract(name), 'it')).rejects.toThrow(RpcUnavailableError)
  })

  it.each(['0x', `0x${'f'.repeat(32)}`])('that gives %s has no value of its kind', async (said) => {
    expect(await answered(says(said).readContract(name), 'it')).toBeUndefined()
    await expect(unlessReverted(says(said).readContract(name), 'it')).rejects.toThrow(
      RpcUnavailableError,
    )
  })

  it.each([
    ['a truth that is neither yes nor no', 'bool', `0x${'2'.padStart(64, '0')}`, undefined],
    ['half a word', 'bool', `0x${'1'.padStart(32, '0')}`, undefined],
    ['half an address', 'address', `0x${'a1'.padStart(40, '0')}`, undefined],
    ['a number above its type', 'uint8', `0x${'106'.padStart(64, '0')}`, 0x106],
    ['a word too much', 'bool', `0x${'1'.padStart(64, '0')}${'f'.repeat(64)}`, true],
  ])('that gives %s', async (_, type, said, value) => {
    const outputs = [{ type, name: '' }]
    const it = {
      type: 'function',
      name: 'it',
      stateMutability: 'view',
      inputs: [],
      outputs,
    } as const
    const read = says(said).readContract({ address, abi: [it], functionName: 'it' })
    // A number is compared as a whole, so that another type of it is never taken for the one that is wanted.
    expect(await answered(read, 'it')).toBe(value)
  })

  it('that a node refuses for another reason says nothing about the contract', async () => {
    const client = refuses(-32601, 'no such method')
    for (const wait of [asked, unlessReverted, answered]) {
      await expect(wait(client.readContract(name), 'it')).rejects.toThrow(RpcUnavailableError)
    }
  })

  it('that no node answers rejects with the very error', async () => {
    const error = new RpcUnavailableError('gone')
    const client = createChainClient({ batch: () => Promise.reject(error) })
    for (const wait of [asked, unlessReverted, answered]) {
      await expect(wait(client.readContract(name), 'it')).rejects.toBe(error)
    }
  })

  it('does not follow a contract to a URL of its own (EIP-3668)', async () => {
    const lookup = parseAbi([
      'error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callback, bytes extraData)',
    ])
    const fetching = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('nobody fetches'))
    const args = [address, ['http://127.0.0.1:9/'], '0x', '0x00000000', '0x'] as const
    const data = encodeErrorResult({ abi: lookup, args })
    const client = refuses(3, 'execution reverted', data)
    expect(await answered(client.readContract(name), 'it')).toBeUndefined()
    expect(fetching).not.toHaveBeenCalled()
    fetching.mockRestore()
  })
})
