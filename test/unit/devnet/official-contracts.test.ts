import { createBatchDigests } from '@arcus/protocol/x402/batch-digest'
import type { ClaimRow } from '@arcus/protocol/x402/batch-schemas'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import {
  BATCH_SETTLEMENT_ADDRESS,
  claimBatchTypes,
  ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
  PERMIT2_ADDRESS,
  refundTypes,
  voucherTypes,
  x402ExactPermit2ProxyABI,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyABI,
  x402UptoPermit2ProxyAddress,
} from '@x402/evm'
import {
  type Abi,
  createPublicClient,
  hashTypedData,
  http,
  toEventSelector,
  toFunctionSelector,
} from 'viem'
import { expect, it, onTestFinished } from 'vitest'
import {
  batchContracts,
  claimedTopic,
  refundedTopic,
  settledTopic,
} from '../../../src/chain/batch-settlement.js'
import { startAnvil } from '../../../src/devnet/anvil.js'
import { devnetContracts, placeContracts, readArtifact } from '../../../src/devnet/fixtures.js'
import { aChannel } from '../../support/a-channel.js'

// What the stand-ins share with the contracts of x402, as the official package names it. Their rules are those of
// the payments in `test/chain`.

const { permit2, exactPermit2Proxy, uptoPermit2Proxy } = devnetContracts
const { batchSettlement: address, erc3009Collector } = devnetContracts
const chainId = 5042

const signatures = (abi: Abi) =>
  abi.flatMap((item) => {
    if (item.type === 'function') return [`${item.name} ${toFunctionSelector(item)}`]
    return item.type === 'event' ? [`${item.name} ${toEventSelector(item)}`] : []
  })

it('Permit2 and the proxies have the addresses, calls and events of the official package', () => {
  expect([permit2, exactPermit2Proxy, uptoPermit2Proxy]).toEqual([
    PERMIT2_ADDRESS,
    x402ExactPermit2ProxyAddress,
    x402UptoPermit2ProxyAddress,
  ])
  const exact = signatures(readArtifact('ExactPermit2Proxy').abi)
  const upto = signatures(readArtifact('UptoPermit2Proxy').abi)
  expect(exact).toEqual(expect.arrayContaining(signatures(x402ExactPermit2ProxyABI)))
  expect(upto).toEqual(expect.arrayContaining(signatures(x402UptoPermit2ProxyABI)))
})

it('the settlement of channels has the addresses and events of the official package', () => {
  expect([address, erc3009Collector]).toEqual([
    BATCH_SETTLEMENT_ADDRESS,
    ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
  ])
  const lower = [address, erc3009Collector].map((text) => text.toLowerCase())
  expect(Object.values(batchContracts)).toEqual(lower)
  expect(claimedTopic).toBe(toEventSelector('Claimed(bytes32,address,uint128,uint128)'))
  expect(settledTopic).toBe(toEventSelector('Settled(address,address,address,uint128)'))
  expect(refundedTopic).toBe(toEventSelector('Refunded(bytes32,address,uint128)'))
})

it('the settlement of channels hashes as the official package and the facilitator do', async () => {
  const anvil = await startAnvil()
  onTestFinished(() => anvil.stop())
  await placeContracts(anvil.url)
  const client = createPublicClient({ transport: http(anvil.url) })
  const { abi } = readArtifact('BatchSettlement')
  const read = (functionName: string, args: unknown[]) =>
    client.readContract({ address, abi, functionName, args })
  const domain = {
    name: 'x402 Batch Settlement',
    version: '1',
    chainId,
    verifyingContract: address,
  }

  const channel = aChannel()
  const { channelId, config } = channel
  const message = { channelId, maxClaimableAmount: 7n }
  expect(await read('getChannelId', [config])).toBe(channelId)
  const digests = createBatchDigests(await createKeccak256(), chainId)
  expect(digests.channel(config)).toBe(channelId)
  expect(await read('getVoucherDigest', [channelId, 7n])).toBe(
    hashTypedData({ domain, types: voucherTypes, primaryType: 'Voucher', message }),
  )
  const refund = { channelId, nonce: 3n, amount: 5n }
  const refundDigest = hashTypedData({
    domain,
    types: refundTypes,
    primaryType: 'Refund',
    message: refund,
  })
  expect(await read('getRefundDigest', [channelId, 3n, 5n])).toBe(refundDigest)
  expect(digests.refund(refund)).toBe(refundDigest)
  const { claims } = (await channel.claim({ max: '9', total: '4' }, { max: '8', total: '2' }))
    .paymentPayload.payload as { claims: ClaimRow[] }
  const entries = [
    { channelId, maxClaimableAmount: 9n, totalClaimed: 4n },
    { channelId, maxClaimableAmount: 8n, totalClaimed: 2n },
  ]
  const batchDigest = hashTypedData({
    domain,
    types: claimBatchTypes,
    primaryType: 'ClaimBatch',
    message: { claims: entries },
  })
  expect(await read('getClaimBatchDigest', [claims])).toBe(batchDigest)
  expect(digests.claims(claims)).toBe(batchDigest)
})
