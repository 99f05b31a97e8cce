import { type Abi, decodeFunctionData, encodeEventTopics, type Hex, keccak256, toHex } from 'viem'
import { topics, wordOf } from '../../../src/chain/abi.js'
import { devnetContracts, readArtifact } from '../../../src/devnet/fixtures.js'
import { call } from '../../../src/devnet/rpc.js'
import { type Answer, pendingCode, usedCode } from './client.js'
import { asset, permit2Scheme, type SignedPayment, uptoFacilitator } from './payments.js'

/** The broken promises, as sentences; all lists are empty when the service keeps its promises. */
export interface Audit {
  onChain: number
  /** Success answers that the chain does not bear out. */
  falseSuccesses: string[]
  /** Payments on chain whose last word to the merchant was that they failed. */
  paidButToldFailed: string[]
  /** Answers that named a transaction which is not the payment's. */
  falseHashes: string[]
  /** Payments told as success more than once. */
  repeatedSuccesses: string[]
  /** Payments on chain of which nobody was ever told success. */
  swallowedSuccesses: string[]
  /** Payments that moved money more or less than once, or other money. */
  falseTransfers: string[]
}

type Log = { topics: Hex[]; data: Hex; transactionHash: Hex }

export interface Evidence {
  payments: readonly SignedPayment[]
  answers: readonly Answer[]
  /** When each transaction first left the service, Unix milliseconds. */
  sentAt: ReadonlyMap<Hex, number>
  /** The node itself, not through a proxy. */
  chainUrl: string
}

/** Compares every answer with what the chain's logs say. */
export async function audit({ payments, answers, sentAt, chainUrl }: Evidence): Promise<Audit> {
  const uses = await (permit2Scheme === undefined
    ? readAuthorizationUses(chainUrl)
    : readSettlements(chainUrl, permit2Scheme))
  const transfers = await readLogs(chainUrl, topics.transfer)
  const report: Audit = {
    onChain: 0,
    falseSuccesses: [],
    paidButToldFailed: [],
    falseHashes: [],
    repeatedSuccesses: [],
    swallowedSuccesses: [],
    falseTransfers: [],
  }
  const hashOf = new Map<string, Hex>()
  for (const { nonce, transactionHash } of uses) {
    if (hashOf.has(nonce)) report.falseTransfers.push(`nonce ${nonce} was used twice`)
    hashOf.set(nonce, transactionHash)
  }
  for (const payment of payments) {
    const own = answers.filter((answer) => answer.payment === payment)
    const hash = hashOf.get(payment.nonce)
    const wasSentAt = hash && sentAt.get(hash)
    auditOne(payment, own, { hash, isOurs: wasSentAt !== undefined }, report)
    for (const answer of own) auditRefusal(answer, { own, hash, wasSentAt }, report)
  }
  report.falseHashes = [...new Set(report.falseHashes)]
  auditMoney(payments, transfers, hashOf, report)
  return report
}

function auditOne(
  { nonce }: SignedPayment,
  answers: readonly Answer[],
  { hash, isOurs }: { hash: Hex | undefined; isOurs: boolean },
  report: Audit,
): void {
  if (hash !== undefined) report.onChain++
  const successes = answers.filter(({ body }) => body?.success === true)
  for (const { body } of successes) {
    if (hash === undefined || body?.transaction !== hash) {
      report.falseSuccesses.push(`${nonce}: told ${body?.transaction}, on chain ${hash}`)
    }
  }
  if (successes.length > 1) report.repeatedSuccesses.push(`${nonce}: ${successes.length} times`)
  if (hash !== undefined && successes.length === 0) {
    const told = answers.map(({ status, body }) => `${status} ${body?.errorReason}`).join(', ')
    const sender = isOurs ? 'of ours' : 'of a stranger'
    report.swallowedSuccesses.push(`${nonce}: in ${hash} ${sender}, told ${told}`)
  }
}

interface Truth {
  /** Every answer about the same payment. */
  own: readonly Answer[]
  hash: Hex | undefined
  wasSentAt: number | undefined
}

function auditRefusal(answer: Answer, { own, hash, wasSentAt }: Truth, report: Audit): void {
  const { payment, status, body, answeredAt } = answer
  if (body === undefined || body.success || body.errorReason === pendingCode) return
  // "The database cannot be reached" says of the payment that nothing is known.
  if (status === 503) return
  const words = `${payment.nonce}: ${status} ${body.errorReason} "${body.errorMessage}"`
  if (body.errorReason === usedCode) {
    if (body.transaction !== hash) report.falseHashes.push(`${words}, on chain ${hash}`)
    return
  }
  // A failed payment may be settled again; what landed must then have been sent afterwards.
  const isAskedAgain = own.some(({ askedAt }) => askedAt >= answeredAt)
  const isLie = wasSentAt === undefined ? !isAskedAgain : wasSentAt < answeredAt
  if (hash !== undefined && isLie) report.paidButToldFailed.push(`${words}, in ${hash}`)
}

function auditMoney(
  payments: readonly SignedPayment[],
  transfers: readonly Log[],
  hashOf: ReadonlyMap<string, Hex>,
  report: Audit,
): void {
  const wanted = new Map<string, number>()
  for (const { payTo, value, nonce } of payments) {
    const hash = hashOf.get(nonce)
    if (hash === undefined) continue
    const key = `${hash} to ${payTo.toLowerCase()} 0x${wordOf(value)}`
    wanted.set(key, (wanted.get(key) ?? 0) + 1)
  }
  const isFromPayer = ({ topics: indexed }: Log) =>
    payments.some(({ payer }) => addressIn(indexed[1]) === payer.toLowerCase())
  const found = new Map<string, number>()
  for (const log of transfers.filter(isFromPayer)) {
    const key = `${log.transactionHash} to ${addressIn(log.topics[2])} ${log.data}`
    found.set(key, (found.get(key) ?? 0) + 1)
  }
  for (const key of new Set([...wanted.keys(), ...found.keys()])) {
    const [asked = 0, moved = 0] = [wanted.get(key), found.get(key)]
    if (asked !== moved) report.falseTransfers.push(`${key}: ${moved} instead of ${asked}`)
  }
}

function addressIn(word: Hex | undefined): string {
  return `0x${(word ?? '').slice(-40)}`
}

interface Use {
  nonce: Hex
  transactionHash: Hex
}

async function readAuthorizationUses(url: string): Promise<Use[]> {
  const logs = await readLogs(url, topics.authorizationUsed)
  return logs.map(({ topics: [, , nonce], transactionHash }) => ({
    nonce: nonce as Hex,
    transactionHash,
  }))
}

/**
 * Reads the nonces from the calls, since the event of a proxy names no payment. Payments of `upto` go through the multicall,
 * which logs the hash of each call that succeeded.
 */
async function readSettlements(url: string, scheme: 'upto' | 'exact'): Promise<Use[]> {
  const isUpto = scheme === 'upto'
  const { abi } = readArtifact(isUpto ? 'UptoPermit2Proxy' : 'ExactPermit2Proxy')
  const multicall = readArtifact('RelayerMulticall').abi
  const [topic] = isUpto
    ? encodeEventTopics({ abi: multicall, eventName: 'Called' })
    : encodeEventTopics({ abi, eventName: 'Settled' })
  const emitter = isUpto ? uptoFacilitator : devnetContracts.exactPermit2Proxy
  const logs = await readLogs(url, topic as Hex, emitter)
  return Promise.all(
    logs.map(async ({ transactionHash, topics: [, callHash] }) => {
      const { input } = await call<{ input: Hex }>(url, 'eth_getTransactionByHash', [
        transactionHash,
      ])
      const data = isUpto ? callIn(input, multicall, callHash as Hex) : input
      const [permit] = decodeFunctionData({ abi, data }).args as [{ nonce: bigint }]
      return { nonce: toHex(permit.nonce, { size: 32 }), transactionHash }
    }),
  )
}

function callIn(input: Hex, multicall: Abi, hash: Hex): Hex {
  const { args } = decodeFunctionData({ abi: multicall, data: input })
  const [calls] = args as [{ callData: Hex }[]]
  return calls.find(({ callData }) => keccak256(callData) === hash)?.callData ?? '0x'
}

function readLogs(url: string, topic: Hex, address = asset): Promise<Log[]> {
  const filter = { address, fromBlock: '0x0', toBlock: 'latest', topics: [topic] }
  return call<Log[]>(url, 'eth_getLogs', [filter])
}
