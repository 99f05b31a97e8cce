import type { FeedbackAnswer, FeedbackFile } from '@arcus/protocol/answers/ratings'
import { canonicalJson } from '@arcus/protocol/listing/listing-write'
import type { RatingJson } from '@arcus/protocol/listing/rating-message'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import { type Address, bytesToHex, stringToBytes } from 'viem'
import {
  encodeFeedback,
  QUALITY_TAG,
  readIdentityRegistryOf,
} from '../../chain/reputation-registry.js'
import type { Rpc } from '../../chain/rpc.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { shareReads } from '../../http/cached-reply.js'
import { WriteFault } from '../listings/refusals.js'
import type { KeptRating } from '../store/ratings.js'
import type { Ratings } from './ratings.js'

interface FeedbackOptions {
  ratings: Pick<Ratings, 'get' | 'merchantsOf'>
  /** A node of the network of identities; `undefined` where that network is not served. */
  rpc: Rpc | undefined
  reputationRegistry: Address
  identityRegistry: Address
  directoryUrl: string
  keccak256: Keccak256
  checksum: (address: Address) => Address
  /** Unix milliseconds. */
  now: () => number
}

/** Time for which a registry that was read is taken to be the same. */
const KNOWN_MS = 60_000

const NOTE =
  'Send it from a wallet that is neither the owner nor an operator of the agent: the registry refuses theirs. It keeps the sender as the client, so the payer should send it.'

export type FeedbackMaker = ReturnType<typeof createFeedbackMaker>

/** Makes what the ERC-8004 reputation registry takes of a rating. All throw a `WriteFault`. */
export function createFeedbackMaker(options: FeedbackOptions) {
  const { ratings, rpc, checksum, now } = options
  /** Returns whether the reputation registry is on the chain and about the agents of the identity registry that we read. */
  const isServed = shareReads(KNOWN_MS, now, async () => {
    if (rpc === undefined) return false
    const found = await readIdentityRegistryOf(rpc, options.reputationRegistry)
    return found === options.identityRegistry.toLowerCase()
  })

  async function requireServed(): Promise<void> {
    const served = await isServed().catch((error: unknown) => {
      if (!(error instanceof RpcUnavailableError)) throw error
      const text = 'The chain could not be asked about its reputation registry; try again.'
      throw new WriteFault('chain_unavailable', text, undefined, 5)
    })
    if (served) return
    const text = 'The chain has no ERC-8004 reputation registry for the agents that we know.'
    throw new WriteFault('feedback_unavailable', text)
  }

  /** Returns the agents that are proven to be of merchants who list what was rated. */
  async function agentsOf(rating: KeptRating): Promise<string[]> {
    const merchants = await ratings.merchantsOf(rating)
    return merchants.flatMap(({ identity }) =>
      identity?.checks.control.passed === true ? identity.agentId : [],
    )
  }

  function write(rating: KeptRating, agentId: string): string {
    const { network, payTo, payer, url, toolName, score, transaction, ratedAt } = rating
    const { tag, link }: RatingJson = JSON.parse(rating.message)
    const chainId = network.split(':')[1] as string
    const number = Number(agentId)
    const file: FeedbackFile = {
      agentRegistry: `${network}:${checksum(options.identityRegistry)}`,
      agentId: Number.isSafeInteger(number) ? number : agentId,
      clientAddress: `${network}:${checksum(payer)}`,
      createdAt: new Date(ratedAt * 1000).toISOString(),
      value: score,
      valueDecimals: 0,
      tag1: QUALITY_TAG,
      tag2: tag,
      endpoint: url,
      ...(toolName === '' ? {} : { mcp: { tool: toolName } }),
      ...(link === '' ? {} : { link }),
      proofOfPayment: {
        fromAddress: checksum(payer),
        toAddress: checksum(payTo),
        chainId,
        txHash: transaction,
      },
      signedRating: { message: JSON.parse(rating.message), signature: rating.signature },
    }
    return canonicalJson(file)
  }

  return {
    /** Makes the call that puts a rating on the registry. */
    async callOf(id: string): Promise<FeedbackAnswer> {
      const rating = await ratings.get(id)
      const [agentId] = await agentsOf(rating)
      if (agentId === undefined) {
        const text = 'The merchant has no ERC-8004 agent that its owner is proven to control.'
        throw new WriteFault('feedback_unavailable', text)
      }
      await requireServed()
      const { tag }: RatingJson = JSON.parse(rating.message)
      const bytes = stringToBytes(write(rating, agentId))
      const hash = bytesToHex(options.keccak256(bytes))
      const uri = `${options.directoryUrl}/api/ratings/${rating.id}/feedback/${agentId}`
      const { score, url: endpoint } = rating
      return {
        network: rating.network,
        agentId,
        to: checksum(options.reputationRegistry),
        data: encodeFeedback({ agentId: BigInt(agentId), score, tag, endpoint, uri, hash }),
        value: '0',
        sender: checksum(rating.payer),
        feedbackUri: uri,
        feedbackHash: hash,
        note: NOTE,
      }
    },
    /** Writes the feedback file. Its bytes depend on the rating and the agent alone, because their hash is on chain. */
    async fileOf(id: string, agentId: string): Promise<string> {
      const rating = await ratings.get(id)
      if ((await agentsOf(rating)).includes(agentId)) return write(rating, agentId)
      const text = 'This is no agent of a merchant who lists what was rated.'
      throw new WriteFault('feedback_unavailable', text)
    },
  }
}
