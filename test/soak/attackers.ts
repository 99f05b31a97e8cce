import { encodeFunctionData, type Hex, keccak256, parseAbi, stringToHex } from 'viem'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { devnetContracts, mintUsdc, readArtifact } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { pause } from '../faults/support/behaviours.js'
import {
  aSignedPayment,
  type PaymentWish,
  type SignedPayment,
} from '../support/a-signed-payment.js'
import { authorizationArguments } from '../support/token.js'

/** The service that is attacked; each call of `url` may name another of its replicas. */
export interface Target {
  chainUrl: string
  url(): string
}

/** Somebody who tries to be told "paid" for nothing, or to burn gas. Says in sentences what they got away with. */
export interface Attacker {
  name: string
  attack(target: Target): Promise<string[]>
}

export interface SettleAnswer {
  success: boolean
  transaction: string
  errorReason?: string
}

const multicallAbi = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) payable returns (Result[])',
])
/** ERC-1271 that says yes while gas costs nothing, as in a simulation, and no in a transaction. */
const saysNoForReal: Hex = '0x3a15631626ba7e0260e01b5f5260205ff3'
/** An account that anvil signs for and the service does not use. */
const stranger = mnemonicToAccount('test test test test test test test test test test test junk', {
  addressIndex: 8,
}).address
const PATIENCE_MS = 30_000
/** Pays for the attacks; its transfers are told from those of honest buyers. */
const buyer = privateKeyToAccount(keccak256(stringToHex('a hostile buyer of the soak')))
const BUYER_USDC = 1_000_000_000n

export function fundAttackers(chainUrl: string): Promise<void> {
  return mintUsdc(chainUrl, buyer.address, BUYER_USDC)
}

const aPayment = (wish: PaymentWish = {}) =>
  aSignedPayment({ from: buyer.address, signer: buyer, ...wish })

/** An answer, or nothing where the service is down at this moment. */
export async function post<Body>(
  target: Target,
  path: string,
  body: unknown,
): Promise<Body | undefined> {
  try {
    const response = await fetch(target.url() + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Body
  } catch {
    return undefined
  }
}

/** The nonces of these payments that are used on chain by now, with the money that reached the merchant for each. */
async function transfersOf(target: Target, hash: Hex, payment: SignedPayment): Promise<number> {
  const receipt = await call<{ logs: { address: string; topics: Hex[]; data: Hex }[] } | null>(
    target.chainUrl,
    'eth_getTransactionReceipt',
    [hash],
  )
  const { from, to, value } = payment.paymentPayload.payload.authorization
  const transfer = keccak256(stringToHex('Transfer(address,address,uint256)'))
  const isTo = (topic: Hex | undefined, address = '') =>
    topic?.slice(26).toLowerCase() === address.slice(2).toLowerCase()
  return (receipt?.logs ?? []).filter(
    (log) =>
      log.address.toLowerCase() === devnetContracts.usdc.toLowerCase() &&
      log.topics[0] === transfer &&
      isTo(log.topics[1], from) &&
      isTo(log.topics[2], to) &&
      BigInt(log.data) === BigInt(value as string),
  ).length
}

async function send(target: Target, to: string, data: Hex): Promise<Hex | undefined> {
  const fees = { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0xba43b7400' }
  const transaction = { from: stranger, to, data, gas: '0x989680', ...fees }
  try {
    const hash = await call<Hex>(target.chainUrl, 'eth_sendTransaction', [transaction])
    const deadline = Date.now() + PATIENCE_MS
    while (Date.now() < deadline) {
      if (await call(target.chainUrl, 'eth_getTransactionReceipt', [hash])) return hash
      await pause(50)
    }
  } catch {
    // The chain itself is in trouble at this moment.
  }
  return undefined
}

/** Nine authorizations that move nothing ride with a real one: ten nonces used, one transfer. */
const decoys: Attacker = {
  name: 'one transfer for ten payments',
  async attack(target) {
    const payments = await Promise.all(Array.from({ length: 10 }, () => aPayment()))
    const [real, ...others] = payments as [SignedPayment, ...SignedPayment[]]
    const settles = payments.map((payment) => post<SettleAnswer>(target, '/settle', payment))
    const fakes = await Promise.all(
      others.map(({ paymentPayload }) => {
        const { from, nonce } = paymentPayload.payload.authorization
        return aPayment({ nonce: nonce as Hex, to: from as Hex, value: 0n })
      }),
    )
    const calls = [real, ...fakes].map((payment) => ({
      target: devnetContracts.usdc,
      allowFailure: true,
      callData: encodeFunctionData({
        abi: readArtifact('MockUsdc').abi,
        functionName: 'transferWithAuthorization',
        args: authorizationArguments(payment),
      }),
    }))
    const args = [calls] as const
    const data = encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args })
    await send(target, devnetContracts.multicall, data)
    const again = payments.map((payment) => post<SettleAnswer>(target, '/settle', payment))
    const answers = await Promise.all([...settles, ...again])
    return untrue(target, answers, [...payments, ...payments])
  },
}

/** Verified here, spent by another way, then presented here. */
const spentElsewhere: Attacker = {
  name: 'a payment spent elsewhere',
  async attack(target) {
    const payment = await aPayment()
    await post(target, '/verify', payment)
    const data = encodeFunctionData({
      abi: readArtifact('MockUsdc').abi,
      functionName: 'transferWithAuthorization',
      args: authorizationArguments(payment),
    })
    if ((await send(target, devnetContracts.usdc, data)) === undefined) return []
    // Blocks tell whole seconds: while nodes lag, what happens within one has no order.
    await pause(1_000)
    const answers = [
      await post<SettleAnswer>(target, '/settle', payment),
      await post<SettleAnswer>(target, '/settle', payment),
    ]
    return answers.flatMap((answer) =>
      answer?.success === true ? [`told paid for ${answer.transaction}, which came before`] : [],
    )
  },
}

/** Signatures of nobody, many at once. */
const forger: Attacker = {
  name: 'forged signatures',
  async attack(target) {
    const payments = await Promise.all(
      Array.from({ length: 30 }, () =>
        aPayment({
          resign: (signature) =>
            `0x${signature.startsWith('0x11') ? '22' : '11'}${signature.slice(4)}`,
        }),
      ),
    )
    const answers = await Promise.all(
      payments.map((payment) => post<SettleAnswer>(target, '/settle', payment)),
    )
    return answers.flatMap((answer) =>
      answer?.success === true ? ['told paid for a forgery'] : [],
    )
  },
}

/** A wallet that says yes to every simulation and no on chain. */
const liar: Attacker = {
  name: 'a wallet that lies',
  async attack(target) {
    const wallet: Hex = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString('hex')}`
    await call(target.chainUrl, 'anvil_setCode', [wallet, saysNoForReal])
    await mintUsdc(target.chainUrl, wallet, 1_000_000n)
    const payments = await Promise.all(
      Array.from({ length: 10 }, () => aSignedPayment({ from: wallet })),
    )
    const answers = await Promise.all(
      payments.map((payment) => post<SettleAnswer>(target, '/settle', payment)),
    )
    return untrue(target, answers, payments)
  },
}

/** Returns the payments that were answered as paid without a transfer of their own. */
async function untrue(
  target: Target,
  answers: readonly (SettleAnswer | undefined)[],
  payments: readonly SignedPayment[],
): Promise<string[]> {
  const told = new Map<string, SignedPayment[]>()
  for (const [i, answer] of answers.entries()) {
    if (answer?.success !== true) continue
    const { transaction } = answer
    told.set(transaction, [...(told.get(transaction) ?? []), payments[i] as SignedPayment])
  }
  const problems: string[] = []
  for (const [transaction, paid] of told) {
    const transfers = await transfersOf(target, transaction as Hex, paid[0] as SignedPayment)
    if (paid.length > transfers) {
      problems.push(`${transaction}: ${paid.length} told paid, ${transfers} transfers`)
    }
  }
  return problems
}

export const attackers: readonly Attacker[] = [decoys, spentElsewhere, forger, liar]
