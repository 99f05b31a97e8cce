import { circleTokens } from '@arcus/protocol/x402/currencies'
import { x402Client } from '@x402/core/client'
import type { SchemeNetworkClient } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { encodeAbiParameters, type Hex, keccak256 } from 'viem'
import { ArcusError } from './calls.js'
import {
  createHttpSeller,
  type Item,
  type PaymentPayload,
  type Seller,
  type SellerCall,
  type SellerReply,
  type SellerRoute,
} from './sellers.js'
import {
  aboveListing,
  CHANNEL,
  choose,
  isAddress,
  isAmount,
  type Limits,
  listedCap,
  type PaymentRequired,
  type Requirement,
} from './terms.js'
import { createToolSeller } from './tools.js'

/** A viem account fits as it is. It signs and needs no gas. */
export interface PaymentSigner {
  address: Hex
  signTypedData(typedData: {
    domain: Record<string, unknown>
    types: Record<string, unknown>
    primaryType: string
    message: Record<string, unknown>
  }): Promise<Hex>
}

export interface PayOptions extends SellerCall {
  signer: PaymentSigner
  /**
   * The most that this call may cost, in atomic units of `asset`: `"10000"` is one cent of USDC. Another token is never
   * signed for, so a limit in dollars lets nobody take euros. By default an item costs at most what its listing says; an
   * address has no default.
   */
  maxAmount?: bigint | string | undefined
  /** Network to pay on, Arc by default. */
  network?: `${string}:${string}`
  /** Token to pay with: an address, or the symbol of one of Circle's on Arc. USDC by default. */
  asset?: Hex | 'USDC' | 'EURC'
  /**
   * Node that is asked whether Permit2 is approved for the token. With it, a payer without an approval signs a permit
   * where the seller takes one (`eip2612GasSponsoring`); without it the first payment by Permit2 is refused.
   */
  rpcUrl?: string
}

/** The name of a payment, by which `GET /payments/{network}/{payer}/{nonce}?asset=…&method=…` finds it. */
export interface PaymentName {
  network: string
  payer: Hex
  nonce: Hex
  asset: Hex
  method: 'eip3009' | 'permit2'
}

export interface Paid {
  /**
   * The answer of the seller, its body unread. Check `ok`: a seller may refuse a payment. For a tool it is the result as
   * JSON, with 402 if the tool still asks for a payment and 500 if it failed.
   */
  response: Response
  /** Atomic units that were signed; 0 if the seller asked for nothing. By `upto` it is a ceiling. */
  amount: bigint
  /** Absent if nothing was signed. */
  payment?: PaymentName
  /** The settlement as the seller reports it: `transaction` if it succeeded, and else `errorReason`. */
  settlement?: NonNullable<SellerReply['settlement']>
  /** The reason why the seller refused the payment. */
  refusal?: string
}

/**
 * Calls a seller, and pays if asked: once, by `exact` or `upto`, and never above `maxAmount`. The limit, the token, the
 * network and for an item the terms of its listing are checked before anything is signed. Redirects are not followed.
 *
 * Rejects with `ArcusError`: `no_limit`, `not_payable`, `not_as_listed` and `too_dear` before anything is signed.
 * `unreachable`, `redirected` and for tools `not_mcp` come before or after; after it, `details` name the payment. Look
 * it up before you pay again.
 */
export type Pay = (target: string | Item, options: PayOptions) => Promise<Paid>

const ARC = 'eip155:5042'

/** What a payer does at the steps of a call. What it throws ends the call before a signature has left. */
export interface PaySteps {
  /** Runs with the terms that were chosen, before anything is signed. */
  choose?(chosen: Requirement): Promise<void>
  /**
   * Runs in place of `choose` where the terms are those of a channel. Returns what signs for them, or the reason why this
   * call is paid in another way, or not at all if the seller takes no other.
   */
  draw?(chosen: Requirement, route: SellerRoute): Promise<SchemeNetworkClient | ArcusError>
  /** Runs with the name of what was signed, before it leaves; not for a voucher. `validBefore` is Unix seconds. */
  sign?(payment: PaymentName, validBefore: number): Promise<void>
  /** Runs with the answer to the payment. */
  reply?(reply: SellerReply): Promise<void>
}

export function createPay(fetch: typeof globalThis.fetch, steps: PaySteps = {}): Pay {
  return async (target, options) => {
    const limits = readLimits(target, options)
    const isTool =
      options.toolName !== undefined || (typeof target !== 'string' && target.type === 'mcp')
    const seller = (isTool ? createToolSeller : createHttpSeller)(fetch, target, options)
    try {
      return await payOnce(seller, target, { ...options, ...limits }, steps)
    } finally {
      seller.close()
    }
  }
}

async function payOnce(
  seller: Seller,
  target: string | Item,
  options: PayOptions & PayLimits,
  steps: PaySteps,
): Promise<Paid> {
  const first = await seller.ask()
  if (!first.isAsking) return { response: first.response, amount: 0n }
  await first.response.body?.cancel()
  const listed = typeof target === 'string' ? undefined : target.accepts
  const { chosen, channel } = await chooseWay(first.required, { ...options, listed }, seller, steps)
  if (options.isAsListed && typeof target !== 'string') {
    const bound = listedCap(target, chosen)
    if (BigInt(chosen.amount) > bound.cap) throw aboveListing(chosen, bound, String)
  }
  const required = { ...(first.required as PaymentRequired), accepts: [chosen] }
  const { payload, payment, validBefore } = await sign(required, options, channel)
  if (payment !== undefined) await steps.sign?.(payment, validBefore)
  const last = await seller.ask(payload).catch((error) => {
    const isOurs = error instanceof ArcusError
    const code = isOurs ? error.code : 'unreachable'
    const message = isOurs ? error.message : 'The call ended after it was paid.'
    throw new ArcusError(code, message, 0, payment)
  })
  await steps.reply?.(last)
  const { response, settlement } = last
  const { network } = options
  const refusal = response.ok ? undefined : last.required?.error
  return {
    response,
    amount: BigInt(chosen.amount),
    ...(payment !== undefined && { payment }),
    ...(settlement?.network === network && { settlement }),
    ...(typeof refusal === 'string' && { refusal }),
  }
}

/** Chooses how the call is paid: by a channel where there is one for it, and else by itself. */
async function chooseWay(
  required: PaymentRequired | undefined,
  limits: Limits,
  { route }: Seller,
  { draw, choose: check }: PaySteps,
): Promise<{ chosen: Requirement; channel?: SchemeNetworkClient }> {
  let chosen = choose(required, { ...limits, channels: draw !== undefined })
  if (draw !== undefined && chosen.scheme === CHANNEL) {
    const channel = await draw(chosen, route)
    if (!(channel instanceof ArcusError)) return { chosen, channel }
    try {
      chosen = choose(required, limits)
    } catch {
      throw channel
    }
  }
  await check?.(chosen)
  return { chosen }
}

/** `isAsListed`: the listing of the item is the limit. */
type PayLimits = Limits & { network: `${string}:${string}`; asset: Hex; isAsListed: boolean }

const NO_LIMIT = 2n ** 256n - 1n

function readLimits(target: string | Item, { maxAmount, ...money }: PayOptions): PayLimits {
  if (maxAmount === undefined && typeof target !== 'string') {
    return { maxAmount: NO_LIMIT, isAsListed: true, ...readAsset(money) }
  }
  const amount = typeof maxAmount === 'bigint' || isAmount(maxAmount) ? BigInt(maxAmount) : 0n
  if (amount <= 0n) {
    const message = 'Give maxAmount, the most that the call may cost, in atomic units of the asset.'
    throw new ArcusError('no_limit', message)
  }
  return { maxAmount: amount, isAsListed: false, ...readAsset(money) }
}

/** Returns the network and the address of the token to pay with. Throws `no_limit` for a symbol that is not known there. */
export function readAsset({
  network = ARC,
  asset = 'USDC',
}: Pick<PayOptions, 'network' | 'asset'>): Pick<PayLimits, 'network' | 'asset'> {
  const known: readonly { symbol: string; address: Hex }[] = Object.hasOwn(circleTokens, network)
    ? circleTokens[network as keyof typeof circleTokens]
    : []
  const address = isAddress(asset) ? asset : known.find(({ symbol }) => symbol === asset)?.address
  if (address !== undefined) return { network, asset: address }
  throw new ArcusError('no_limit', `Give the address of the asset ${asset} on ${network}.`)
}

/** Signs one requirement, once more within the limits of the official client. */
async function sign(
  required: PaymentRequired,
  { network, asset, maxAmount, signer, rpcUrl }: PayOptions & PayLimits,
  channel: SchemeNetworkClient | undefined,
): Promise<{ payload: PaymentPayload; payment?: PaymentName; validBefore: number }> {
  // Nothing but this is handed on: an account could also sign transactions.
  const { address: payer } = signer
  const account = { address: payer, signTypedData: signer.signTypedData.bind(signer) }
  const node = rpcUrl === undefined ? undefined : { rpcUrl }
  const payers = [new ExactEvmScheme(account, node), new UptoEvmScheme(account, node)]
  const client = x402Client.fromConfig({
    schemes: (channel === undefined ? payers : [channel]).map((client) => ({ network, client })),
    spendControls: {
      allowedAssets: [{ network, asset, maxAmountPerPayment: String(maxAmount) }],
    },
  })
  const payload = await client.createPaymentPayload(required)
  if (channel !== undefined) return { payload, ...nameDeposit(payload, { network, payer, asset }) }
  const { authorization, permit2Authorization } = payload.payload as {
    authorization?: { nonce: Hex; validBefore: string }
    permit2Authorization?: { nonce: string; deadline: string }
  }
  const method = permit2Authorization === undefined ? 'eip3009' : 'permit2'
  const number = BigInt((permit2Authorization ?? authorization)?.nonce ?? 0)
  const nonce = `0x${number.toString(16).padStart(64, '0')}` as const
  const validBefore = Number(permit2Authorization?.deadline ?? authorization?.validBefore)
  return { payload, payment: { network, payer, nonce, asset, method }, validBefore }
}

/** Returns the name of the deposit that goes with a voucher; none where none does. */
function nameDeposit(
  { payload }: PaymentPayload,
  payer: Pick<PaymentName, 'network' | 'payer' | 'asset'>,
): { payment?: PaymentName; validBefore: number } {
  const { deposit, voucher } = payload as {
    voucher: { channelId: Hex }
    deposit?: { authorization: { erc3009Authorization: { validBefore: string; salt: Hex } } }
  }
  if (deposit === undefined) return { validBefore: 0 }
  const { salt, validBefore } = deposit.authorization.erc3009Authorization
  const words = [{ type: 'bytes32' }, { type: 'uint256' }] as const
  const nonce = keccak256(encodeAbiParameters(words, [voucher.channelId, BigInt(salt)]))
  return { payment: { ...payer, nonce, method: 'eip3009' }, validBefore: Number(validBefore) }
}
