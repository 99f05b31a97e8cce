import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { authorizationTypes } from '@arcus/protocol/x402/authorization-types'
import {
  type Address,
  bytesToHex,
  type Hex,
  keccak256,
  type LocalAccount,
  pad,
  stringToBytes,
} from 'viem'
import { call } from '../../src/devnet/rpc.js'
import { ConnectionDropped, type RpcProxy } from '../faults/support/rpc-proxy.js'

/** A facilitator that is examined, the chain it settles on, and who pays whom there. */
export interface Subject {
  /** Base URL of its routes. */
  url: string
  chainUrl: string
  /** CAIP-2. */
  network: string
  token: { address: Address; name: string; version: string }
  payer: LocalAccount
  payTo: Address
  /** Kills it at once, and starts it again on what it has kept. Absent where it is not ours to kill. */
  restart?: () => Promise<void>
  /** Stands between it and its node. Absent where its node is not ours. */
  node?: RpcProxy
}

/** What a case needs that only somebody who runs the facilitator has. */
type Need = 'restart' | 'node'

export interface Case {
  name: string
  needs?: Need
  run(subject: Subject): Promise<string[]>
}

/** An answer of `/settle`; `status` is 0 where none came. */
interface SettleAnswer {
  status: number
  success: boolean
  reason: string
  transaction: string
}

interface SignedTransfer {
  nonce: Hex
  body: string
}

const AMOUNT = 10_000n
/** A payment is asked about again until it has a definite answer, or for this long. */
const PATIENCE_MS = 30_000
const PAUSE_MS = 500
const AT_ONCE = 8
/** Signs of an answer that leaves the outcome open. */
const OPEN = /pending|unknown|timeout|unavailable/

export const battery: readonly Case[] = [
  {
    name: 'a payment is settled',
    async run(subject) {
      const payment = await sign(subject)
      return judge(subject, payment, [await settle(subject, payment)], true)
    },
  },
  {
    name: 'it is shown again after its answer',
    async run(subject) {
      const payment = await sign(subject)
      const answers = [await settle(subject, payment), await settle(subject, payment)]
      return judge(subject, payment, answers, true)
    },
  },
  {
    name: `it is shown ${AT_ONCE} times at once`,
    async run(subject) {
      const payment = await sign(subject)
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => settle(subject, payment)),
      )
      return judge(subject, payment, answers, true)
    },
  },
  {
    name: 'the caller leaves before the answer, and asks again',
    async run(subject) {
      const payment = await sign(subject)
      await leaveEarly(subject, payment)
      await untilMoved(subject, payment)
      return judge(subject, payment, [await settle(subject, payment)], true)
    },
  },
  {
    name: 'the process is killed while it settles',
    needs: 'restart',
    async run(subject) {
      const payment = await sign(subject)
      const first = settle(subject, payment)
      await untilSent(subject)
      await subject.restart?.()
      return judge(subject, payment, [await first, await settle(subject, payment)], true)
    },
  },
  {
    name: 'the node takes the transaction, and its answer is lost',
    needs: 'node',
    async run(subject) {
      const lift = subject.node?.fault(
        'eth_sendRawTransaction',
        async (sent) => {
          await sent.forward()
          throw new ConnectionDropped()
        },
        { times: 1 },
      )
      const payment = await sign(subject)
      const first = await settle(subject, payment)
      lift?.()
      return judge(subject, payment, [first, await settle(subject, payment)], true)
    },
  },
  {
    name: 'the node refuses the transaction that it has taken',
    needs: 'node',
    async run(subject) {
      const lift = subject.node?.fault(
        'eth_sendRawTransaction',
        async (sent) => {
          await sent.forward()
          return { error: { code: -32_000, message: 'internal error' } }
        },
        { times: 1 },
      )
      const payment = await sign(subject)
      const first = await settle(subject, payment)
      lift?.()
      return judge(subject, payment, [first, await settle(subject, payment)], true)
    },
  },
  {
    name: 'the node shows no receipt for five seconds',
    needs: 'node',
    async run(subject) {
      const nothing = async () => ({ result: null })
      const lifts = ['eth_getTransactionReceipt', 'eth_getBlockReceipts'].map((method) =>
        subject.node?.fault(method, nothing),
      )
      const payment = await sign(subject)
      const first = settle(subject, payment)
      await sleep(5_000)
      for (const lift of lifts) lift?.()
      return judge(subject, payment, [await first, await settle(subject, payment)], true)
    },
  },
  {
    name: 'the signature is somebody else’s',
    async run(subject) {
      const payment = await sign(subject, { isForged: true })
      return judge(subject, payment, [await settle(subject, payment)], false)
    },
  },
  {
    name: 'the payment is over',
    async run(subject) {
      const payment = await sign(subject, { isOver: true })
      return judge(subject, payment, [await settle(subject, payment)], false)
    },
  },
]

/**
 * Returns the promises that answers and chain break together: one transfer at most, no payment that landed called failed, the
 * hash in each definite answer, no success without a transfer.
 */
async function judge(
  subject: Subject,
  payment: SignedTransfer,
  answers: SettleAnswer[],
  isSound: boolean,
): Promise<string[]> {
  const given = [...answers]
  if (isSound) {
    given.push(await untilDefinite(subject, payment, given.at(-1)))
    await untilMoved(subject, payment)
  }
  await sleep(PAUSE_MS)
  const hashes = await transfersOf(subject, payment)
  const broken = new Set<string>()
  if (hashes.length > 1) broken.add(`${hashes.length} transfers`)
  if (isSound && hashes.length === 0) broken.add('no transfer of a sound payment')
  if (!isSound && hashes.length > 0) broken.add('a transfer of a payment that is not sound')
  const [hash] = hashes
  for (const { success, reason, transaction } of given) {
    if (success && hash === undefined) broken.add('success without a transfer')
    else if (success && transaction.toLowerCase() !== hash) broken.add('success with another hash')
    else if (!success && hash !== undefined && !OPEN.test(reason)) {
      if (transaction.toLowerCase() !== hash)
        broken.add(`paid, and answered "${reason}" without its hash`)
    }
  }
  const last = given.at(-1)
  if (isSound && hash !== undefined && last?.transaction.toLowerCase() !== hash) {
    broken.add('no later answer has the hash')
  }
  return [...broken]
}

/** Asks again while the outcome is open. */
async function untilDefinite(
  subject: Subject,
  payment: SignedTransfer,
  last: SettleAnswer | undefined,
): Promise<SettleAnswer> {
  let answer = last ?? (await settle(subject, payment))
  const deadline = Date.now() + PATIENCE_MS
  while (!answer.success && OPEN.test(answer.reason) && Date.now() < deadline) {
    await sleep(PAUSE_MS)
    answer = await settle(subject, payment)
  }
  return answer
}

async function settle({ url }: Subject, { body }: SignedTransfer): Promise<SettleAnswer> {
  try {
    const response = await fetch(`${url}/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(90_000),
    })
    const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>
    const { success, errorReason, transaction } = answer
    const isOpen = response.status >= 500 && errorReason === undefined
    return {
      status: response.status,
      success: success === true,
      reason: isOpen ? 'unavailable' : String(errorReason ?? ''),
      transaction: String(transaction ?? ''),
    }
  } catch {
    return { status: 0, success: false, reason: 'unavailable', transaction: '' }
  }
}

/** Sends a settle whole and closes the connection without reading. */
async function leaveEarly({ url }: Subject, { body }: SignedTransfer): Promise<void> {
  const agent = new Agent({ keepAlive: false })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const sent = request(`${url}/settle`, { method: 'POST', headers, agent })
  sent.on('error', () => {})
  await new Promise<void>((resolve) => sent.end(body, resolve))
  await sleep(50)
  sent.destroy()
}

/** Waits until the node has got a transaction; a moment where it cannot be seen. */
async function untilSent({ node }: Subject): Promise<void> {
  const before = node?.count('eth_sendRawTransaction') ?? 0
  const deadline = Date.now() + 5_000
  while (Date.now() < deadline && (node?.count('eth_sendRawTransaction') ?? 0) <= before) {
    await sleep(2)
  }
}

async function untilMoved(subject: Subject, payment: SignedTransfer): Promise<void> {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline && (await transfersOf(subject, payment)).length === 0) {
    await sleep(PAUSE_MS)
  }
}

interface FoundLog {
  transactionHash: Hex
  topics: Hex[]
  data: Hex
}

const AUTHORIZATION_USED = keccak256(stringToBytes('AuthorizationUsed(address,bytes32)'))
const TRANSFER = keccak256(stringToBytes('Transfer(address,address,uint256)'))

/** Returns the hashes of the transactions in which the chain shows this very transfer. */
async function transfersOf(subject: Subject, { nonce }: SignedTransfer): Promise<string[]> {
  const { chainUrl, token, payer, payTo } = subject
  const [from, to] = [pad(payer.address).toLowerCase(), pad(payTo).toLowerCase()]
  const range = { address: token.address, fromBlock: 'earliest', toBlock: 'latest' }
  const used = await call<FoundLog[]>(chainUrl, 'eth_getLogs', [
    { ...range, topics: [AUTHORIZATION_USED, from, nonce] },
  ])
  const hashes = used.map(({ transactionHash }) => transactionHash)
  const moved = await call<FoundLog[]>(chainUrl, 'eth_getLogs', [
    { ...range, topics: [TRANSFER, from, to] },
  ])
  return moved
    .filter(
      ({ transactionHash, data }) => hashes.includes(transactionHash) && BigInt(data) === AMOUNT,
    )
    .map(({ transactionHash }) => transactionHash.toLowerCase())
}

/** Signs a payment of one cent. */
async function sign(
  { network, token, payer, payTo }: Subject,
  { isForged = false, isOver = false } = {},
): Promise<SignedTransfer> {
  const nonce = bytesToHex(randomBytes(32))
  const seconds = Math.floor(Date.now() / 1_000)
  const message = {
    from: payer.address,
    to: payTo,
    value: AMOUNT,
    validAfter: 0n,
    validBefore: BigInt(isOver ? seconds - 60 : seconds + 300),
    nonce,
  }
  const signature = await payer.signTypedData({
    domain: {
      name: token.name,
      version: token.version,
      chainId: Number(network.split(':')[1]),
      verifyingContract: token.address,
    },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: isForged ? { ...message, value: AMOUNT + 1n } : message,
  })
  const requirement = {
    scheme: 'exact',
    network,
    amount: String(AMOUNT),
    asset: token.address,
    payTo,
    maxTimeoutSeconds: 60,
    extra: { name: token.name, version: token.version },
  }
  const authorization = {
    ...message,
    value: String(message.value),
    validAfter: '0',
    validBefore: String(message.validBefore),
  }
  const body = JSON.stringify({
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: requirement,
      payload: { signature, authorization },
    },
    paymentRequirements: requirement,
  })
  return { nonce, body }
}
