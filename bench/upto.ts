import { randomBytes } from 'node:crypto'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { createPermit2Digest } from '@arcus/protocol/x402/permit2-digest'
import secp256k1 from 'secp256k1'
import {
  type Address,
  bytesToHex,
  encodeFunctionData,
  type Hex,
  hexToBytes,
  maxUint256,
} from 'viem'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { deployRelayerMulticall, devnetContracts, readArtifact } from '../src/devnet/fixtures.js'
import { call } from '../src/devnet/rpc.js'
import { compare, type Figure, line, median, short } from './figures.js'
import { drive, type Load } from './load.js'
import type { SignedPayment } from './payments.js'
import { startSide } from './sides.js'

const CONNECTIONS = 50
const SETTLES = 1_000
const WARM_UP = 300
const CEILING = 2n
const { permit2, uptoPermit2Proxy, usdc } = devnetContracts

/**
 * Settles of `upto` a second where each transaction makes a block, and what the chain says about every success: through
 * the multicall of one wallet beside the reference, which has one, and with one and three wallets that payers name.
 */
export async function measureUpto(rounds: number): Promise<Figure[]> {
  const runs: Record<'reference' | 'shared' | 'one' | 'three', Measured[]> = {
    reference: [],
    shared: [],
    one: [],
    three: [],
  }
  for (let round = 0; round < rounds; round++) {
    runs.shared.push(await measure('arcus', 1, true))
    runs.reference.push(await measure('reference', 1))
    runs.one.push(await measure('arcus', 1))
    runs.three.push(await measure('arcus', 3))
  }
  for (const [name, measured] of Object.entries(runs)) line(described(name, measured))
  const perSecond = (name: keyof typeof runs) => runs[name].map((it) => it.perSecond)
  const at = `at ${CONNECTIONS}`
  return [
    compare(`upto settle/s ${at}`, perSecond('shared'), perSecond('reference'), '/s'),
    compare(`upto settle/s ${at}, one by one`, perSecond('one'), perSecond('reference'), '/s'),
    compare(`upto settle/s ${at}, three wallets`, perSecond('three'), perSecond('reference'), '/s'),
  ]
}

interface Measured extends Load {
  untrue: number
  gasPerPayment: number
}

async function measure(
  name: 'arcus' | 'reference',
  count: number,
  isShared = false,
): Promise<Measured> {
  const relayers = devnetRelayers.slice(0, count)
  const keys = relayers.map(({ privateKey }) => privateKey).join(',')
  let named = relayers.map(({ address }) => address)
  const side = await startSide(name, {
    env: { RELAYER_PRIVATE_KEYS: keys },
    async between(chainUrl) {
      if (isShared) named = [await deployRelayerMulticall(chainUrl, named)]
      return chainUrl
    },
  })
  try {
    await approve(side.chainUrl)
    await drive(side.url, '/settle', await signUptoPayments(WARM_UP, named), CONNECTIONS)
    const load = await drive(
      side.url,
      '/settle',
      await signUptoPayments(SETTLES, named),
      CONNECTIONS,
    )
    return { ...load, ...(await audit(side.chainUrl, load.told)) }
  } finally {
    await side.stop()
  }
}

/** Lets Permit2 take the payer's USDC; the local chain signs for this account. */
async function approve(chainUrl: string): Promise<void> {
  const { abi } = readArtifact('MockUsdc')
  const args = [permit2, maxUint256]
  const data = encodeFunctionData({ abi, functionName: 'approve', args })
  await call(chainUrl, 'eth_sendTransaction', [{ from: devnetPayer.address, to: usdc, data }])
}

/** Signs fresh ceilings of the devnet payer, each for the next wallet; half of it is charged. */
async function signUptoPayments(
  count: number,
  wallets: readonly Address[],
): Promise<SignedPayment[]> {
  const digestOf = createPermit2Digest(await createKeccak256())
  const key = hexToBytes(devnetPayer.privateKey)
  const deadline = BigInt(Math.floor(Date.now() / 1000) + 3_600)
  const [from, to] = [devnetPayer.address, devnetMerchant.address]
  const extra = { name: 'USDC', version: '2', assetTransferMethod: 'permit2' }
  return Array.from({ length: count }, (_, i) => {
    const facilitator = wallets[i % wallets.length] as Address
    const nonce = bytesToHex(randomBytes(32))
    const authorization = {
      from,
      to: to.toLowerCase() as Address,
      value: CEILING,
      validAfter: 0n,
      validBefore: deadline + 1n,
      nonce,
    }
    const terms = {
      token: usdc,
      spender: uptoPermit2Proxy.toLowerCase() as Address,
      facilitator: facilitator.toLowerCase() as Address,
    }
    const signed = secp256k1.ecdsaSign(digestOf(5042, authorization, terms), key)
    const signature = `${bytesToHex(signed.signature)}${signed.recid === 0 ? '1b' : '1c'}`
    const requirement = {
      scheme: 'upto',
      network: 'eip155:5042',
      amount: `${CEILING}`,
      asset: usdc,
      payTo: to,
      maxTimeoutSeconds: 60,
      extra: { ...extra, facilitatorAddress: facilitator },
    }
    const permit2Authorization = {
      from,
      permitted: { token: usdc, amount: `${CEILING}` },
      spender: uptoPermit2Proxy,
      nonce: BigInt(nonce).toString(),
      deadline: `${deadline}`,
      witness: { to, facilitator, validAfter: '0' },
    }
    const payload = { signature, permit2Authorization }
    const body = JSON.stringify({
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted: requirement, payload },
      paymentRequirements: { ...requirement, amount: `${CEILING / 2n}` },
    })
    return { nonce, body }
  })
}

interface Receipt {
  status: Hex
  gasUsed: Hex
  logs: { address: Address }[]
}

/** Compares the answers with the chain: each success needs a settlement of its own by the proxy. */
async function audit(chainUrl: string, told: ReadonlyMap<Hex, Hex>) {
  const proxy = uptoPermit2Proxy.toLowerCase()
  let settled = 0
  let gas = 0
  for (const hash of new Set(told.values())) {
    const receipt = await call<Receipt | null>(chainUrl, 'eth_getTransactionReceipt', [hash])
    const logs = receipt?.status === '0x1' ? receipt.logs : []
    settled += logs.filter(({ address }) => address === proxy).length
    gas += Number(receipt?.gasUsed ?? 0)
  }
  return { untrue: told.size - settled, gasPerPayment: gas / told.size }
}

function described(name: string, runs: readonly Measured[]): string {
  const sum = (pick: (run: Measured) => number) => runs.map(pick).reduce((a, b) => a + b, 0)
  const middle = (pick: (run: Measured) => number) => short(median(runs.map(pick)))
  const asked = sum(({ told, failed }) => told.size + failed)
  return `  ${name}: ${middle((run) => run.perSecond)}/s, p50 ${middle((run) => run.p50Ms)} ms, p99 ${middle((run) => run.p99Ms)} ms, ${middle((run) => run.gasPerPayment)} gas, ${sum(({ failed }) => failed)} of ${asked} failed, ${sum(({ untrue }) => untrue)} successes untrue`
}
