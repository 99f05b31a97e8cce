import { existsSync, writeFileSync } from 'node:fs'
import { isNetwork, networks } from '@arcus/protocol/x402/networks'
import { type Address, createPublicClient, http, parseAbi } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { showAmount } from './budget.js'
import type { Bought } from './buyer.js'
import { type CommandArguments, isKey, readAccount, UsageError } from './command-options.js'
import { readAsset } from './pay.js'

const views = parseAbi(['function balanceOf(address) view returns (uint256)'])

/** A wallet with its balance, and a sentence about how to fund it. */
export interface WalletState {
  address: Address
  network: string
  /** As people write it, with the name of the token; `null` where the node does not answer. */
  balance: string | null
  fund: string
  /** The file of a key that was made just now. */
  made?: string
}

/** Makes the key file of `--key-file` if it is not there, and reads address and balance of the wallet that pays. */
export async function readWallet(given: CommandArguments): Promise<WalletState> {
  const { network = 'eip155:5042' } = given
  if (!isNetwork(network)) {
    throw new UsageError(`--network is ${Object.keys(networks).join(' or ')}, not "${network}".`)
  }
  const file = given['key-file']
  if (file !== undefined && isKey(file)) throw new UsageError('--key-file wants a file, not a key.')
  const isNew = file !== undefined && !existsSync(file)
  if (isNew) writeFileSync(file, `${generatePrivateKey()}\n`, { mode: 0o600, flag: 'wx' })
  const { address } = readAccount(given)
  const asset = readAsset({ network, asset: given.asset } as Parameters<typeof readAsset>[0])
  const rpcUrl = given.rpc ?? process.env.ARCUS_RPC_URL ?? networks[network].publicRpcUrl
  const node = createPublicClient({ transport: http(rpcUrl) })
  const balance = await node
    .readContract({ address: asset.asset, abi: views, functionName: 'balanceOf', args: [address] })
    .then((amount) => showAmount(amount, asset))
    .catch(() => null)
  return { address, network, balance, fund: fundingOf(network), ...(isNew && { made: file }) }
}

/** Says where money for a wallet comes from. */
export function fundingOf(network: string): string {
  return network === 'eip155:5042002'
    ? 'Get test USDC at https://faucet.circle.com: choose Arc Testnet.'
    : 'Send a few dollars of USDC on Arc to it; it needs no gas.'
}

/** Says what to do where a payment was refused because the wallet has too little; `undefined` for all else. */
export function shortageOf({ payment, refusal }: Pick<Bought, 'payment' | 'refusal'>) {
  if (payment === undefined || !/insufficient_(balance|funds)/.test(refusal ?? '')) return undefined
  return `The wallet ${payment.payer} has too little. ${fundingOf(payment.network)}`
}

/** Writes the state for a terminal. */
export function describeWallet({ address, network, balance, fund, made }: WalletState): string {
  const lines = [
    `address    ${address} on ${network}`,
    `balance    ${balance ?? 'not known: the node does not answer, name one with --rpc'}`,
    `money      ${fund}`,
  ]
  return [
    ...(made === undefined ? [] : [`made       ${made}, readable by you alone`]),
    ...lines,
  ].join('\n')
}
