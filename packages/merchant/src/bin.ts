#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { isSameAddress } from '@arcus/protocol/x402/address'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { isNetwork, networks } from '@arcus/protocol/x402/networks'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { httpUrl } from './check-options.js'
import { readPaidTransaction } from './paid-transaction.js'
import { findStablecoin } from './price.js'
import {
  createRefunds,
  openRefundLedger,
  partOf,
  type RefundablePayment,
  type RefundLedger,
  refundNonce,
} from './refunds.js'

const help = `arcus-merchant refund TRANSACTION [AMOUNT] --ledger FILE

Gives a payment by exact back to its buyer, whole or the AMOUNT that is named, such as '$0.40' or 400000 atomic units. Each
payment is given back once. The payment is read from its transaction on chain, and Arcus is asked whether it was given back
before. The server that uses the ledger may run meanwhile.

  --ledger FILE       the path that your server gives to createRefunds
  --facilitator URL   Arcus, which sends the refund: ARCUS_URL, default http://localhost:4021
  --rpc URL           of a node: ARCUS_RPC_URL, default a public one of the network
  --network N         default eip155:5042
  --pay-to ADDRESS    that was paid, where it is not the account of the key
  --payer ADDRESS     of the payment, where the transaction holds several
  --key-file FILE     of the account that pays back, else MERCHANT_KEY_FILE, else the key in MERCHANT_KEY
  --json
`

const text = { type: 'string' } as const
const options = {
  ledger: text,
  facilitator: text,
  rpc: text,
  network: { ...text, default: 'eip155:5042' },
  'pay-to': text,
  payer: text,
  'key-file': text,
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Gives a payment back. Returns the status of the process: 0 once the refund has landed. */
async function refund(hash: string, amount: string | undefined, given: GivenOptions) {
  const { network, ledger: path, payer } = given
  if (!/^0x[0-9a-f]{64}$/i.test(hash)) throw new Error(`${hash} is no hash of a transaction.`)
  if (path === undefined) throw new Error('Name the file of your refunds by --ledger.')
  const signer = readKey(given)
  const payTo = given['pay-to'] ?? signer.address
  const facilitator = given.facilitator ?? process.env.ARCUS_URL ?? 'http://localhost:4021'
  httpUrl('--facilitator', facilitator)
  const found = await readPaidTransaction(rpcOf(given), hash as Hex, { network, payTo })
  const payments = found.filter((it) => payer === undefined || isSameAddress(it.payer, payer))
  const [payment, ...others] = payments
  if (payment === undefined) {
    throw new Error(`This transaction holds no payment by EIP-3009 in USDC or EURC to ${payTo}.`)
  }
  if (others.length > 0) {
    const payers = payments.map((it) => it.payer).join(', ')
    throw new Error(
      `This transaction holds several payments to ${payTo}, by ${payers}: choose by --payer.`,
    )
  }
  const wanted = partOf(payment, amount)
  const ledger = ofOnePayment(await openRefundLedger(path), payment)
  const refunds = await createRefunds({ facilitator, signer, payTo, ledger })
  const back = await refunds.refund(payment, amount).finally(() => refunds.close())
  return show(payment, wanted, back, given)
}

type GivenOptions = ReturnType<typeof readCommand>['values']

function readCommand() {
  return parseArgs({ options, allowPositionals: true })
}

/** Leaves the refunds of other payments to the server that uses the same file. */
function ofOnePayment(ledger: RefundLedger, payment: RefundablePayment): RefundLedger {
  const { network, asset, payer, nonce = '' } = payment
  const own = refundNonce({
    network: network as `eip155:${number}`,
    asset,
    payer,
    paymentNonce: nonce,
  })
  return { ...ledger, pending: () => ledger.pending().filter((it) => refundNonce(it) === own) }
}

function show(
  payment: RefundablePayment,
  wanted: bigint,
  back: { amount: string; transaction: string | undefined },
  { json }: GivenOptions,
): number {
  const { amount, transaction } = back
  const symbol = findStablecoin(payment.asset, payment.network)?.symbol ?? payment.asset
  const money = (atomic: string) => `${formatAtomic(BigInt(atomic))} ${symbol}`
  const isOther = BigInt(amount) !== wanted
  if (json) {
    process.stdout.write(`${JSON.stringify({ ...payment, refund: back })}\n`)
  } else {
    const when = isOther ? ' before, and a payment is given back once' : ''
    process.stdout.write(
      `paid ${money(payment.amount)}, returned ${money(amount)} to ${payment.payer}${when}\n` +
        `${transaction ?? 'The refund is in the ledger and has not landed: run this again.'}\n`,
    )
  }
  return transaction === undefined || isOther ? 1 : 0
}

function rpcOf({ rpc = process.env.ARCUS_RPC_URL, network }: GivenOptions): string {
  if (rpc !== undefined) return rpc
  if (isNetwork(network)) return networks[network].publicRpcUrl
  throw new Error(`Name a node of ${network} by --rpc.`)
}

/** Reads the key from a file or the environment. It is never an argument, which others could see. */
function readKey(given: GivenOptions) {
  const file = given['key-file'] ?? process.env.MERCHANT_KEY_FILE
  const key = (file === undefined ? process.env.MERCHANT_KEY : readFileSync(file, 'utf8'))?.trim()
  if (key !== undefined && /^(0x)?[0-9a-f]{64}$/i.test(key)) {
    return privateKeyToAccount(`0x${key.replace(/^0x/i, '')}`)
  }
  throw new Error(
    'There is no key of 32 bytes in hexadecimal digits: set MERCHANT_KEY_FILE or --key-file.',
  )
}

async function run(): Promise<number> {
  try {
    const { values, positionals } = readCommand()
    const [command, hash, amount, ...rest] = positionals
    const isKnown = command === 'refund' && hash !== undefined && rest.length === 0
    if (isKnown && !values.help) return await refund(hash, amount, values)
    process.stdout.write(help)
    return values.help ? 0 : 2
  } catch (error) {
    process.stderr.write(`${(error as Error).message.replace(/^x402: /, '')}\n`)
    return String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS') ? 2 : 1
  }
}

process.exitCode = await run()
