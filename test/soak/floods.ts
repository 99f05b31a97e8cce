import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createListingClient } from '@arcus/client/listing-client'
import { reasons } from '@arcus/protocol/x402/reasons'
import { encodeFunctionData, type Hex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import {
  devnetContracts,
  fundNative,
  mintUsdc,
  readArtifact,
  usdcBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { pause } from '../faults/support/behaviours.js'
import { aPermit2Payment, approvePermit2, charging } from '../support/a-permit2-payment.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { type Attacker, post, type SettleAnswer, type Target } from './attackers.js'

/** Payments of one unit that one payer sends at once. */
const CROWD = 120
/** Settles that charge nothing, and requests that take long to check. */
const MANY = 40
/** The most webhooks of one listing. */
const HOOKS = 5
/** What was told is held against the chain after this: a transaction that was under way has landed by then. */
const LANDED_MS = 2_000
/** The account drains itself while its payments are under way. */
const DRAIN_AFTER_MS = [50, 150, 400]

/** Answers after which a payment may still settle. */
const openReasons = new Set<string | undefined>([
  undefined,
  reasons.settlementPending.code,
  reasons.unexpectedSettleError.code,
  reasons.rateLimited.code,
])

async function aPayer({ chainUrl }: Target, money: bigint) {
  const signer = anAccount()
  await mintUsdc(chainUrl, signer.address, money)
  return { signer, from: signer.address, to: anAccount().address }
}

/**
 * Settles payments of one unit to one new account, all at once. Returns what is untrue of the answers: its balance is the
 * number of payments that landed.
 */
async function settleAtOnce(
  target: Target,
  to: `0x${string}`,
  payments: readonly unknown[],
): Promise<string[]> {
  const answers = await Promise.all(
    payments.map((payment) => post<SettleAnswer>(target, '/settle', payment)),
  )
  await pause(LANDED_MS)
  const landed = Number(await usdcBalance(target.chainUrl, to))
  const paid = answers.filter((answer) => answer?.success === true).length
  const failed = answers.filter(
    (answer) => answer?.success === false && !openReasons.has(answer.errorReason),
  ).length
  const problems: string[] = []
  if (paid > landed) problems.push(`${paid} told paid, ${landed} landed`)
  if (landed > payments.length - failed) {
    problems.push(`${failed} of ${payments.length} told failed, ${landed} landed`)
  }
  return problems
}

/** One payer pays themselves one unit, very often: gas is ours. */
const crowd: Attacker = {
  name: 'a crowd of one payer by EIP-3009',
  async attack(target) {
    const { to, ...payer } = await aPayer(target, BigInt(CROWD))
    const payments = await Promise.all(
      Array.from({ length: CROWD }, () => aSignedPayment({ ...payer, to, value: 1n })),
    )
    return settleAtOnce(target, to, payments)
  },
}

/** The same by Permit2: each takes a transaction of its own. */
const singles: Attacker = {
  name: 'a crowd of one payer by Permit2',
  async attack(target) {
    const { to, ...payer } = await aPayer(target, BigInt(CROWD))
    const isApproved = await approvePermit2(target.chainUrl, payer.from, BigInt(CROWD)).catch(
      // The chain itself is in trouble at this moment.
      () => undefined,
    )
    if (isApproved === undefined) return []
    const payments = await Promise.all(
      Array.from({ length: CROWD }, () =>
        aPermit2Payment({ scheme: 'exact', ...payer, to, permitted: 1n }),
      ),
    )
    return settleAtOnce(target, to, payments)
  },
}

/** A plain account sends its money elsewhere while payments of it are under way, which then burn our gas. */
const drainer: Attacker = {
  name: 'an account that drains itself',
  async attack(target) {
    const { to, signer, from } = await aPayer(target, BigInt(CROWD))
    await fundNative(target.chainUrl, from, 10n ** 18n)
    const payments = await Promise.all(
      Array.from({ length: CROWD }, () => aSignedPayment({ from, signer, to, value: 1n })),
    )
    const drain = await transferElsewhere(signer, BigInt(CROWD))
    const settling = settleAtOnce(target, to, payments)
    await pause(DRAIN_AFTER_MS[Math.floor(Math.random() * DRAIN_AFTER_MS.length)] as number)
    await call(target.chainUrl, 'eth_sendRawTransaction', [drain]).catch(() => undefined)
    return settling
  },
}

/** Signs the first transaction of an account, which sends this much of its money to somebody new. */
export function transferElsewhere(signer: PrivateKeyAccount, value: bigint): Promise<Hex> {
  return signer.signTransaction({
    type: 'eip1559',
    chainId: 5042,
    nonce: 0,
    to: devnetContracts.usdc,
    data: encodeFunctionData({
      abi: readArtifact('MockUsdc').abi,
      functionName: 'transfer',
      args: [anAccount().address, value],
    }),
    gas: 100_000n,
    maxFeePerGas: 10n ** 12n,
    maxPriorityFeePerGas: 10n ** 10n,
  })
}

/** Settles of `upto` that charge nothing, by wallets that never held anything. */
const free: Attacker = {
  name: 'settles that charge nothing',
  async attack(target) {
    const signers = Array.from({ length: MANY }, anAccount)
    const answers = await Promise.all(
      signers.map(async (signer) => {
        const payment = await aPermit2Payment({ from: signer.address, signer })
        return post<SettleAnswer>(target, '/settle', charging(payment, 0n))
      }),
    )
    return answers.flatMap((answer) =>
      answer?.success === true && answer.transaction !== ''
        ? [`told paid for nothing in ${answer.transaction}`]
        : [],
    )
  },
}

/** Bodies nested so deeply that reading them may end a process, and schemas whose check takes for ever. */
const heavy: Attacker = {
  name: 'deep bodies and slow schemas',
  async attack(target) {
    const deep = JSON.parse(`${'['.repeat(3_000)}${']'.repeat(3_000)}`) as unknown
    const payer = await aPayer(target, BigInt(MANY))
    const slow = await Promise.all(Array.from({ length: 4 }, (_, i) => aSlowPayment(payer, i)))
    const answers = await Promise.all([
      ...slow.map((payment) => post<SettleAnswer>(target, '/verify', payment)),
      ...['/verify', '/settle', '/mcp', '/discovery/validate', '/api/try'].map((path) =>
        post<SettleAnswer>(target, path, { paymentPayload: deep, paymentRequirements: deep, deep }),
      ),
    ])
    return answers.flatMap((answer) =>
      answer?.success === true ? ['told paid for a body that is no payment'] : [],
    )
  },
}

/** A payment whose description of its API has a pattern that backtracks without end; it is verified and never paid. */
async function aSlowPayment(
  payer: Awaited<ReturnType<typeof aPayer>>,
  i: number,
): Promise<SignedPayment> {
  const payment = await aSignedPayment({ ...payer, value: 1n })
  const pattern = { type: 'string', pattern: '^(a+)+$' }
  const queryParams = { type: 'object', properties: { a: pattern } }
  const input = { type: 'object', properties: { queryParams } }
  const schema = { type: 'object', properties: { input } }
  const said = { a: `${'a'.repeat(40)}!${i}` }
  const info = { input: { type: 'http', method: 'GET', queryParams: said } }
  const more = {
    resource: { url: `https://api.example/${payer.from}/${i}` },
    extensions: { bazaar: { info, schema } },
  }
  return { ...payment, paymentPayload: { ...payment.paymentPayload, ...more } }
}

/** Webhooks whose receiver agrees to what is sent and then never answers, and payments of one unit that are sent there. */
const slowReceivers: Attacker = {
  name: 'webhooks whose receiver never answers',
  async attack(target) {
    const { to: _, ...payer } = await aPayer(target, BigInt(MANY))
    const owner = anAccount()
    try {
      const directoryUrl = target.url()
      const terms = (await (await fetch(`${directoryUrl}/api/signing`)).json()) as {
        audience: string
      }
      const client = createListingClient({ directoryUrl, ...terms, signer: owner })
      const id = `slow-${owner.address.slice(2, 10).toLowerCase()}`
      const url = await neverAnswering()
      // Nothing answers there, which a listing may begin with.
      const endpoint = {
        url: 'http://127.0.0.1:1/',
        method: 'GET',
        title: 'Slow',
        price: '1',
      } as const
      await client.save(id, { name: 'Slow', payTo: owner.address, endpoints: [endpoint] })
      for (let i = 0; i < HOOKS; i++) {
        await client.setHook(id, {
          id: null,
          url: `${url}/${i}`,
          types: ['payment.settled'],
          since: null,
        })
      }
    } catch {
      // The service or the chain is in trouble at this moment, or the service limits what one address writes.
    }
    const payments = await Promise.all(
      Array.from({ length: MANY }, () =>
        aSignedPayment({ ...payer, to: owner.address, value: 1n }),
      ),
    )
    return settleAtOnce(target, owner.address, payments)
  },
}

let receiverUrl: Promise<string> | undefined

/** Returns the address of a receiver that answers challenges and nothing else. */
function neverAnswering(): Promise<string> {
  receiverUrl ??= new Promise((resolve) => {
    const server = createServer(async (request, response) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part)
      // A service that is killed leaves half a body.
      if (!request.complete) return
      const event = JSON.parse(Buffer.concat(parts).toString()) as { challenge?: string }
      if (event.challenge !== undefined) response.end(event.challenge)
    }).unref()
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    )
  })
  return receiverUrl
}

export const floods: readonly Attacker[] = [crowd, singles, drainer, free, heavy, slowReceivers]
