import { type Address, decodeFunctionData, type Hex, parseAbi } from 'viem'
import { addressTopic, selectors, topics } from '../../../src/chain/abi.js'
import type { Rpc } from '../../../src/chain/rpc.js'
import { RpcUnavailableError } from '../../../src/chain/rpc-errors.js'

const wallet = parseAbi(['function isValidSignature(bytes32 hash, bytes signature)'])

/** The newest block. */
const HEAD = '0x64'

interface LogQuery {
  topics: [Hex, Hex[], Hex]
  fromBlock: Hex
  toBlock: Hex
}

interface Call {
  to: Address
  data: Hex
}

/** A node that knows the code of wallets and the transfers of a token, and nothing else. */
export function aChain() {
  const chain = {
    /** The answer of contract wallets, no by default. */
    isContractSignature: async (_claim: {
      address: Address
      hash: Hex
      signature: Hex
    }): Promise<boolean> => false,
    /** Transfers in the newest block; addresses are in lower case. */
    transfers: [] as { asset: Address; from: Address; to: Address; value: bigint }[],
  }

  async function call({ to, data }: Call): Promise<Hex> {
    if (!data.startsWith(selectors.isValidSignature)) throw unknown()
    const { args } = decodeFunctionData({ abi: wallet, data })
    const [hash, signature] = args
    const isValid = await chain.isContractSignature({ address: to, hash, signature })
    return isValid ? (selectors.isValidSignature.padEnd(66, '0') as Hex) : '0x'
  }

  const request: Rpc['request'] = async (method, [first]) => {
    if (method === 'eth_call') return call(first as Call)
    if (method === 'eth_blockNumber') return HEAD
    if (method !== 'eth_getLogs') throw unknown()
    const { topics: wanted, fromBlock, toBlock } = first as LogQuery
    const [, from, to] = wanted
    const isIn = Number(fromBlock) <= Number(HEAD) && Number(HEAD) <= Number(toBlock)
    return (isIn ? chain.transfers : [])
      .filter((it) => from.includes(addressTopic(it.from)) && to === addressTopic(it.to))
      .map(({ asset: address, value, ...it }, i) => ({
        address,
        data: `0x${value.toString(16)}`,
        transactionHash: `0x${i}`,
        topics: [topics.transfer, addressTopic(it.from), addressTopic(it.to)],
      }))
  }

  const rpc: Rpc = {
    request,
    async batch() {
      throw unknown()
    },
    everywhere: async () => [],
    prefer() {},
    async close() {},
  }
  return Object.assign(chain, { rpc })
}

const unknown = () => new RpcUnavailableError('the node does not answer')
