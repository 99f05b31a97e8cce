import { channelContracts, permit2Contracts } from '@arcus/protocol/x402/address'
import { createPublicClient, getAddress, type Hex, http, parseAbi, parseEventLogs } from 'viem'
import type { ChannelTerms } from './ledger.js'
import type { PaymentName } from './pay.js'

/** Reads what the chain says of payments. Its methods reject where the node does not answer or is on another network. */
export interface PaymentChain {
  /**
   * Returns `used`, `unused` for a payment that can never move money any more, or `open` while it can. `validBefore` is
   * Unix seconds.
   */
  readUse(payment: PaymentName, validBefore: number): Promise<'used' | 'unused' | 'open'>
  /** Counts the transfers of an amount from payer to recipient in a transaction that was mined at `since` or later. */
  countTransfers(
    transaction: Hex,
    payment: PaymentName,
    transfer: { payTo: string; amount: bigint; since: number },
  ): Promise<number>
  /** Reads a channel, and whether the payment that fills it is on chain. */
  readChannel(channel: ChannelTerms, deposit: PaymentName): Promise<ChannelReading>
}

/** A channel as one block shows it. Amounts are atomic units. */
export interface ChannelReading {
  /** Whether the deposit is on chain. */
  isThere: boolean
  balance: bigint
  claimed: bigint
  /** The time of the block in Unix seconds. */
  timestamp: bigint
}

const views = parseAbi([
  'function authorizationState(address, bytes32) view returns (bool)',
  'function channels(bytes32) view returns (uint128 balance, uint128 totalClaimed)',
  'function nonceBitmap(address, uint256) view returns (uint256)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

/** Creates the reader over a node of the buyer's own choice. */
export function createPaymentChain(rpcUrl: string): PaymentChain {
  const node = createPublicClient({ transport: http(rpcUrl) })

  async function checkNetwork(network: string): Promise<void> {
    const chainId = await node.getChainId()
    if (`eip155:${chainId}` !== network) throw new Error(`The node of rpcUrl is not on ${network}.`)
  }

  function isUsed({ payer, nonce, asset, method }: PaymentName, blockNumber: bigint) {
    const at = { abi: views, blockNumber } as const
    if (method === 'eip3009') {
      const args = [payer, nonce] as const
      return node.readContract({
        ...at,
        address: asset,
        functionName: 'authorizationState',
        args,
      })
    }
    // Permit2 keeps one bit for each nonce, in words of 256.
    const number = BigInt(nonce)
    const args = [payer, number >> 8n] as const
    const address = permit2Contracts.permit2
    return node
      .readContract({ ...at, address, functionName: 'nonceBitmap', args })
      .then((word) => ((word >> (number & 255n)) & 1n) === 1n)
  }

  return {
    async readUse(payment, validBefore) {
      await checkNetwork(payment.network)
      // State and time are of one block: a node that lags behind would show a payment as unused that others see as used.
      const { number, timestamp } = await node.getBlock()
      if (await isUsed(payment, number)) return 'used'
      return timestamp > BigInt(validBefore) ? 'unused' : 'open'
    },
    async countTransfers(hash, { network, payer, asset }, { payTo, amount, since }) {
      await checkNetwork(network)
      const { logs, blockNumber } = await node.getTransactionReceipt({ hash })
      const { timestamp } = await node.getBlock({ blockNumber })
      if (Number(timestamp) < since) return 0
      const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
      return parseEventLogs({ abi: views, eventName: 'Transfer', logs }).filter(
        ({ address, args }) =>
          isSame(address, asset) &&
          isSame(args.from, payer) &&
          isSame(args.to, payTo) &&
          args.value === amount,
      ).length
    },
    async readChannel({ channelId, config }, { network, nonce }) {
      await checkNetwork(network)
      // Both are read at one block: a node that lags behind would show a deposit that is not in the channel.
      const { number: blockNumber, timestamp } = await node.getBlock()
      const at = { abi: views, blockNumber } as const
      const [isThere, [balance, claimed]] = await Promise.all([
        node.readContract({
          ...at,
          address: config.token,
          functionName: 'authorizationState',
          args: [config.payer, nonce],
        }),
        node.readContract({
          ...at,
          address: getAddress(channelContracts.settlement),
          functionName: 'channels',
          args: [channelId],
        }),
      ])
      return { isThere, balance, claimed, timestamp }
    },
  }
}
