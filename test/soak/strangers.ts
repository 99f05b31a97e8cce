import { type Hex, toHex } from 'viem'
import { fundNative, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { pause } from '../faults/support/behaviours.js'
import { aChannel, asset, type BatchBody, network } from '../support/a-channel.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { type Attacker, post, type SettleAnswer, type Target } from './attackers.js'
import { transferElsewhere } from './floods.js'

/** Requests that are sent at once, by callers who own nothing. */
const MANY = 30
/** The most rows of one claim, and the most endpoints of one listing. */
const ROWS = 150
const ENDPOINTS = 100
/** What was told is held against the chain after this: a transaction that was under way has landed by then. */
const LANDED_MS = 2_000

const random = (bytes: number): Hex => toHex(crypto.getRandomValues(new Uint8Array(bytes)))
const aSignature = (): Hex => `${random(64)}1b`

/** Claims of many rows, in which no key, no signature and no money is real. */
const claims: Attacker = {
  name: 'claims of invented rows',
  async attack(target) {
    const bodies = Array.from({ length: MANY }, anInventedClaim)
    return toldPaid(await Promise.all(bodies.map((body) => settle(target, body))))
  },
}

function anInventedClaim(): BatchBody {
  const [receiverAuthorizer, receiver] = [random(20), random(20)]
  const asked = {
    scheme: 'batch-settlement',
    network,
    asset,
    amount: '0',
    payTo: receiver,
    maxTimeoutSeconds: 0,
    extra: {},
  }
  const rows = Array.from({ length: ROWS }, () => ({
    voucher: {
      channel: {
        payer: random(20),
        payerAuthorizer: random(20),
        receiver,
        receiverAuthorizer,
        token: asset,
        withdrawDelay: 900,
        salt: random(32),
      },
      maxClaimableAmount: '900000',
    },
    signature: aSignature(),
    totalClaimed: '900000',
  }))
  const payload = { type: 'claim', claims: rows, claimAuthorizerSignature: aSignature() }
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: asked, payload },
    paymentRequirements: asked,
  }
}

/** Deposits that are well signed, by wallets that hold nothing. */
const deposits: Attacker = {
  name: 'deposits of empty wallets',
  async attack(target) {
    const bodies = await Promise.all(
      Array.from({ length: MANY }, () => aChannel().deposit('1000000')),
    )
    return toldPaid(await Promise.all(bodies.map((body) => settle(target, body))))
  },
}

/** Large listings that nobody signed. */
const saves: Attacker = {
  name: 'saves that nobody signed',
  async attack(target) {
    const id = `unsigned-${random(4).slice(2)}`
    const owner = anAccount().address
    const now = Math.floor(Date.now() / 1_000)
    const properties = Object.fromEntries(
      Array.from({ length: 120 }, (_, i) => [`p${i}`, { type: 'string', minLength: 1 }]),
    )
    const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => ({
      url: `https://api.example.com/e${i}`,
      method: 'GET',
      title: `Endpoint ${i}`,
      description: 'Nothing',
      price: '1000',
      inputSchema: { type: 'object', properties },
    }))
    const message = {
      audience: target.url(),
      action: 'listing.create',
      merchantId: id,
      owner,
      payTo: owner,
      revision: 0,
      bodyHash: random(32),
      nonce: random(32),
      issuedAt: now,
      deadline: now + 300,
    }
    const listing = { name: 'Unsigned', description: 'Nothing', payTo: owner, endpoints }
    const body = JSON.stringify({ body: listing, message, signature: aSignature() })
    const save = () => ask(target, `/api/merchants/${id}`, { method: 'PUT', body })
    const answers = await Promise.all(Array.from({ length: MANY }, save))
    return answers.some((it) => it !== undefined && it.status < 300)
      ? ['saved what nobody signed']
      : []
  },
}

/** Sentences that nobody searched for before, lists of all kinds, and the files of the directory. */
const readers: Attacker = {
  name: 'searches and exports',
  async attack(target) {
    const word = () => random(3).slice(2)
    const listed = await ask(target, '/api/merchants?limit=20')
    if (listed?.status !== 200) return []
    const { merchants } = JSON.parse(listed.text) as { merchants: { id: string }[] }
    const paths = [
      '/api/explore',
      '/api/stats',
      '/openapi.json',
      '/sitemap.xml',
      ...Array.from({ length: MANY }, (_, i) => [
        `/discovery/search?query=${word()}+forecast+${word()}`,
        `/discovery/resources?limit=100&offset=${i}`,
      ]),
      ...merchants.map(({ id }) => [
        `/api/merchants/${id}`,
        `/api/merchants/${id}/openapi.json`,
        `/api/merchants/${id}/llms.txt`,
        `/api/merchants/${id}/history`,
      ]),
    ]
    await Promise.all(paths.flat().map((path) => ask(target, path)))
    return []
  },
}

/** One payment, presented at once for many resources: it is one transfer, whatever is told. */
const claimants: Attacker = {
  name: 'one payment for many resources',
  async attack(target) {
    const payer = anAccount()
    await mintUsdc(target.chainUrl, payer.address, BigInt(MANY))
    const to = anAccount().address
    const payment = await aSignedPayment({ from: payer.address, signer: payer, to, value: 1n })
    const answers = await Promise.all(
      Array.from({ length: MANY }, (_, i) => {
        const resource = { url: `https://api.example.com/${i}` }
        const paymentPayload = { ...payment.paymentPayload, resource }
        return post<SettleAnswer>(target, '/settle', { ...payment, paymentPayload })
      }),
    )
    await pause(LANDED_MS)
    const paid = answers.filter((answer) => answer?.success === true).length
    const landed = Number(await usdcBalance(target.chainUrl, to))
    if (landed > 1) return [`one payment moved ${landed} units`]
    return paid > landed ? [`${paid} told paid, ${landed} landed`] : []
  },
}

/** New accounts that pay once and drain themselves meanwhile: each burns a little of our gas, and none has a past. */
const newcomers: Attacker = {
  name: 'new accounts that drain themselves',
  async attack(target) {
    const to = anAccount().address
    const payers = Array.from({ length: MANY }, anAccount)
    await Promise.all(
      payers.map(async ({ address }) => {
        await mintUsdc(target.chainUrl, address, 1n)
        await fundNative(target.chainUrl, address, 10n ** 18n)
      }),
    )
    const payments = await Promise.all(
      payers.map((signer) => aSignedPayment({ from: signer.address, signer, to, value: 1n })),
    )
    const drains = await Promise.all(payers.map((signer) => transferElsewhere(signer, 1n)))
    const settling = Promise.all(payments.map((payment) => settle(target, payment)))
    await pause(50)
    await Promise.all(
      drains.map((drain) =>
        call(target.chainUrl, 'eth_sendRawTransaction', [drain]).catch(() => undefined),
      ),
    )
    const paid = (await settling).filter((answer) => answer?.success === true).length
    await pause(LANDED_MS)
    const landed = Number(await usdcBalance(target.chainUrl, to))
    return paid > landed ? [`${paid} told paid, ${landed} landed`] : []
  },
}

const settle = (target: Target, body: unknown) => post<SettleAnswer>(target, '/settle', body)

const toldPaid = (answers: readonly (SettleAnswer | undefined)[]) =>
  answers.flatMap((answer) =>
    answer?.success === true ? [`told paid for nothing in ${answer.transaction}`] : [],
  )

/** Returns the answer with its body, or nothing where the service is down at this moment. */
async function ask(target: Target, path: string, init: RequestInit = {}) {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(target.url() + path, { ...init, headers })
    return { status: response.status, text: await response.text() }
  } catch {
    return undefined
  }
}

export const strangers: readonly Attacker[] = [
  claims,
  deposits,
  saves,
  readers,
  claimants,
  newcomers,
]
