import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { type Hex, parseGwei } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { encodeTransferWithAuthorization } from '../src/chain/abi.js'
import { devnetRelayers } from '../src/devnet/accounts.js'
import { devnetContracts } from '../src/devnet/fixtures.js'
import { type CountingProxy, startCountingProxy } from './counting-proxy.js'
import { line, quantile, short } from './figures.js'
import { type SignedPayment, signPayments } from './payments.js'
import { type Side, startSide } from './sides.js'

/*
 * `npm run bench -- added [PAIRS] [MS]` measures what a settle takes beyond the chain itself. A pair is one payment sent straight to the
 * node and one through the service, both begun at the same moment after a block. Moments are spread evenly over a block.
 * With MS the node is so many milliseconds away from both.
 */

const BLOCK_SECONDS = 0.5
const BLOCK_MS = BLOCK_SECONDS * 1_000
const PAIRS = Number(process.argv[2] ?? 100)
const AWAY_MS = Number(process.argv[3] ?? 0)
/** Seconds in which the calls of an idle service are counted. */
const IDLE_SECONDS = 10
const headers = { 'content-type': 'application/json' }

/** The proxy before the node, where it is to be far away. */
const proxies: CountingProxy[] = []
const side = await startSide('arcus', {
  blockSeconds: BLOCK_SECONDS,
  async between(chainUrl) {
    if (AWAY_MS === 0) return chainUrl
    const proxy = await startCountingProxy(chainUrl, AWAY_MS)
    proxies.push(proxy)
    return proxy.url
  },
})
const node = new Pool(proxies[0]?.url ?? side.chainUrl, { connections: 4 })
const service = new Pool(side.url, { connections: 1 })
try {
  await measure(side)
} finally {
  await Promise.all([node.destroy(), service.destroy()])
  await side.stop()
  for (const proxy of proxies) await proxy.close()
}

async function measure({ url }: Side): Promise<void> {
  const payments = await signPayments(PAIRS * 2 + 8)
  const take = () => payments.pop() as SignedPayment
  const sender = await createSender()
  for (let i = 0; i < 4; i++) await settle(take())
  const straight: number[] = []
  const through: number[] = []
  const begun = { at: performance.now(), heads: await headsAsked(url) }
  for (let pair = 0; pair < PAIRS; pair++) {
    // Golden steps meet every part of a block, whatever the number of pairs.
    const moment = ((pair * 0.618_034) % 1) * BLOCK_MS
    const both = [
      async () => straight.push(await timed(moment, () => sender.send(take()))),
      async () => through.push(await timed(moment, () => settle(take()))),
    ]
    for (const one of pair % 2 === 0 ? both : both.toReversed()) await one()
  }
  const busy = ((await headsAsked(url)) - begun.heads) / (performance.now() - begun.at)
  const before = await headsAsked(url)
  await sleep(IDLE_SECONDS * 1_000)
  const idle = ((await headsAsked(url)) - before) / (IDLE_SECONDS * 1_000)

  const added = through.map((ms, i) => ms - (straight[i] as number))
  line(`blocks of ${BLOCK_MS} ms, ${PAIRS} pairs`)
  line(
    `straight to the node: p50 ${short(quantile(straight, 0.5))} ms, mean ${short(mean(straight))}`,
  )
  line(`through the service: p50 ${short(quantile(through, 0.5))} ms, mean ${short(mean(through))}`)
  const quantiles = [0.1, 0.5, 0.9].map((share) => short(quantile(added, share)))
  line(`added by pairs, p10, p50, p90: ${quantiles.join(', ')} ms; mean ${short(mean(added))}`)
  line(`heads asked for: ${short(busy * 3.6e6)} an hour in this run, ${short(idle * 3.6e6)} idle`)
}

/** Waits for the moment after the next block, and returns the milliseconds that the payment took from there. */
async function timed(moment: number, pay: () => Promise<void>): Promise<number> {
  await nextBlock()
  await sleep(moment)
  const startedAt = performance.now()
  await pay()
  return performance.now() - startedAt
}

async function nextBlock(): Promise<void> {
  const seen = await call('eth_blockNumber', [])
  while ((await call('eth_blockNumber', [])) === seen) await sleep(1)
}

async function settle({ body }: SignedPayment): Promise<void> {
  const response = await service.request({ method: 'POST', path: '/settle', headers, body })
  const answer = (await response.body.json()) as { success?: boolean }
  if (answer.success !== true) throw new Error(`not settled: ${JSON.stringify(answer)}`)
}

/** A plain sender of one transaction after another, which asks for the receipt every two milliseconds. */
async function createSender() {
  const account = privateKeyToAccount((devnetRelayers[1] as { privateKey: Hex }).privateKey)
  let nonce = Number(await call('eth_getTransactionCount', [account.address, 'latest']))
  return {
    async send({ body }: SignedPayment): Promise<void> {
      const { authorization, signature } = JSON.parse(body).paymentPayload.payload
      const { value, validAfter, validBefore } = authorization
      const numbers = { value: BigInt(value), validAfter: BigInt(validAfter) }
      const data = encodeTransferWithAuthorization(
        { ...authorization, ...numbers, validBefore: BigInt(validBefore) },
        signature,
      )
      const signed = await account.signTransaction({
        chainId: 5042,
        nonce: nonce++,
        to: devnetContracts.usdc,
        data,
        gas: 120_000n,
        maxFeePerGas: parseGwei('100'),
        maxPriorityFeePerGas: 0n,
        type: 'eip1559',
      })
      const hash = await call('eth_sendRawTransaction', [signed])
      for (;;) {
        const receipt = (await call('eth_getTransactionReceipt', [hash])) as { status: Hex } | null
        if (receipt?.status === '0x1') return
        if (receipt !== null) throw new Error('the payment failed')
        await sleep(2)
      }
    },
  }
}

async function call(method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await node.request({ method: 'POST', path: '/', headers, body })
  const { result, error } = (await response.body.json()) as { result?: unknown; error?: unknown }
  if (error !== undefined) throw new Error(JSON.stringify(error))
  return result
}

/** The calls for a head so far, by the service's own count. */
async function headsAsked(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const lines = metrics.matchAll(
    /^arcus_rpc_[a-z_]*(?:total|count)\{[^}]*eth_getBlockByNumber[^}]*\} (\S+)$/gm,
  )
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0)
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
