import { claimBatchTypes } from '@x402/evm'
import type { Hex } from 'viem'
import { devnetContracts, mintUsdc } from '../src/devnet/fixtures.js'
import { call } from '../src/devnet/rpc.js'
import { aChannel, type BatchBody, type Channel } from '../test/support/a-channel.js'
import { anAccount } from '../test/support/an-account.js'
import { line } from './figures.js'
import { startSide } from './sides.js'

/** Gas of what `batch-settlement` brings on chain, each in a transaction of its own. */
const ROWS = [10, 50, 150]

const receiver = anAccount().address
const authorizer = anAccount()
const side = await startSide('arcus', { env: { SETTLE_WAIT_SECONDS: '30' } })
try {
  const open = async () => {
    const channel = aChannel({ receiver, authorizer })
    await mintUsdc(side.chainUrl, channel.payer.address, 1_000_000n)
    return channel
  }
  const first = await open()
  await tell('deposit, first of a channel', await first.deposit('100000'))
  await tell('deposit, on top', await first.deposit('100000', '2000'))
  await tell(
    'claim of 1 row, first of a receiver',
    await first.claim({ max: '1000', total: '1000' }),
  )
  await tell('claim of 1 row, later', await first.claim({ max: '2000', total: '2000' }))
  await tell('payout, first of a receiver', first.settle())
  await tell('claim of 1 row, later', await first.claim({ max: '3000', total: '3000' }))
  await tell('payout, later', first.settle())
  await tell('refund in part', await first.refund('1000', '0', '3000'))
  await tell(
    'refund of the rest, with its claim',
    await first.refund('200000', '1', '4000', [{ max: '4000', total: '4000' }]),
  )
  for (const rows of ROWS) {
    const channels: Channel[] = []
    for (let i = 0; i < rows; i++) {
      const channel = await open()
      await settle(await channel.deposit('100000'))
      channels.push(channel)
    }
    await tell(`claim of ${rows} rows, first of each channel`, await claimOf(channels, '1000'))
    await tell(`claim of ${rows} rows, later`, await claimOf(channels, '2000'))
  }
} finally {
  await side.stop()
}

/** One claim of the same total from each of these channels. */
async function claimOf(channels: readonly Channel[], total: string): Promise<BatchBody> {
  const bodies = await Promise.all(channels.map((it) => it.claim({ max: total, total })))
  const [body] = bodies as [BatchBody]
  const claims = bodies.flatMap(({ paymentPayload }) => paymentPayload.payload.claims)
  const claimAuthorizerSignature = await authorizer.signTypedData({
    domain: {
      name: 'x402 Batch Settlement',
      version: '1',
      chainId: 5042,
      verifyingContract: devnetContracts.batchSettlement,
    },
    types: claimBatchTypes,
    primaryType: 'ClaimBatch',
    message: {
      claims: channels.map(({ channelId }) => ({
        channelId,
        maxClaimableAmount: BigInt(total),
        totalClaimed: BigInt(total),
      })),
    },
  })
  const payload = { type: 'claim', claims, claimAuthorizerSignature }
  return { ...body, paymentPayload: { ...body.paymentPayload, payload } }
}

async function settle(body: BatchBody): Promise<Hex> {
  const response = await fetch(`${side.url}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const told = (await response.json()) as { success: boolean; transaction: Hex }
  if (!told.success) throw new Error(JSON.stringify(told))
  return told.transaction
}

async function tell(what: string, body: BatchBody): Promise<void> {
  const receipt = await call<{ gasUsed: Hex }>(side.chainUrl, 'eth_getTransactionReceipt', [
    await settle(body),
  ])
  line(`${what}: ${Number(receipt.gasUsed)} gas`)
}
