import { permit2WitnessTypes, uptoPermit2WitnessTypes } from '@x402/evm'
import { type Address, encodeFunctionData, type Hex, toHex } from 'viem'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../src/devnet/accounts.js'
import { devnetContracts, fundNative, mintUsdc, readArtifact } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { nowSeconds } from './a-signed-payment.js'
import { anAccount } from './an-account.js'

const { permit2, exactPermit2Proxy, uptoPermit2Proxy, usdc } = devnetContracts

export interface Permit2Wish {
  scheme?: 'exact' | 'upto'
  from?: Address
  to?: Address
  /** The amount that the payer permits. */
  permitted?: bigint
  validAfter?: bigint
  deadline?: bigint
  nonce?: bigint
  facilitator?: Address
  spender?: Address
  token?: Address
  chainId?: number
  signer?: Pick<typeof devnetPayer.account, 'signTypedData'>
  resign?: (signature: Hex) => Hex
  /** Members over those of the requirement, of `accepted` and of the extensions. */
  requirement?: Record<string, unknown>
  accepted?: Record<string, unknown>
  extensions?: Record<string, unknown>
  /** Another spelling of the nonce on the wire. */
  writtenNonce?: string
}

export const aPermit2Nonce = () => BigInt(toHex(crypto.getRandomValues(new Uint8Array(32))))

/** A body for `/verify` and `/settle` by Permit2 with a real signature: one cent, or up to one cent, to the merchant. */
export async function aPermit2Payment(wish: Permit2Wish = {}) {
  const { scheme = 'upto', from = devnetPayer.address, to = devnetMerchant.address } = wish
  const isUpto = scheme === 'upto'
  const permitted = wish.permitted ?? 10_000n
  const facilitator = wish.facilitator ?? (devnetRelayers[0]?.address as Address)
  const spender = wish.spender ?? (isUpto ? uptoPermit2Proxy : exactPermit2Proxy)
  const token = wish.token ?? usdc
  const nonce = wish.nonce ?? aPermit2Nonce()
  const deadline = wish.deadline ?? nowSeconds() + 300n
  const validAfter = wish.validAfter ?? 0n
  const witness = { to, ...(isUpto && { facilitator }), validAfter }
  const signed = await (wish.signer ?? devnetPayer.account).signTypedData({
    domain: { name: 'Permit2', chainId: wish.chainId ?? 5042, verifyingContract: permit2 },
    types: isUpto ? uptoPermit2WitnessTypes : permit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token, amount: permitted },
      spender,
      nonce,
      deadline,
      witness: witness as never,
    },
  })
  const requirement = {
    scheme,
    network: 'eip155:5042',
    amount: permitted.toString(),
    asset: usdc,
    payTo: to,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2', assetTransferMethod: 'permit2' },
    ...wish.requirement,
  }
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: { ...requirement, ...wish.accepted },
      payload: {
        signature: wish.resign?.(signed) ?? signed,
        permit2Authorization: {
          from,
          permitted: { token, amount: permitted.toString() },
          spender,
          nonce: wish.writtenNonce ?? nonce.toString(),
          deadline: deadline.toString(),
          witness: { ...witness, validAfter: validAfter.toString() },
        },
      },
      ...(wish.extensions && { extensions: wish.extensions }),
    },
    paymentRequirements: requirement,
  }
}

export type Permit2Body = Awaited<ReturnType<typeof aPermit2Payment>>

/** The same payment, with another amount asked for. */
export function charging(body: Permit2Body, amount: bigint): Permit2Body {
  const paymentRequirements = { ...body.paymentRequirements, amount: amount.toString() }
  return { ...body, paymentRequirements }
}

/** Sends a transaction of any account on the devnet, which need not have a key, and waits until it is mined. */
export async function sendAs(
  url: string,
  from: Address,
  /** Absent to create a contract. */
  to: Address | undefined,
  data: Hex,
): Promise<Hex> {
  await fundNative(url, from, 10n ** 18n)
  await call(url, 'anvil_impersonateAccount', [from])
  const transaction = { from, to, data, gas: toHex(500_000), maxFeePerGas: toHex(10n ** 12n) }
  const hash = await call<Hex>(url, 'eth_sendTransaction', [transaction])
  for (let tries = 0; tries < 500; tries++) {
    const receipt = await call<{ status: Hex } | null>(url, 'eth_getTransactionReceipt', [hash])
    if (receipt?.status === '0x1') return hash
    if (receipt !== null) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`the transaction of ${from} was not mined, or failed`)
}

/** Lets Permit2 take so much of the payer's USDC. */
export function approvePermit2(url: string, from: Address, amount: bigint): Promise<Hex> {
  const { abi } = readArtifact('MockUsdc')
  const data = encodeFunctionData({ abi, functionName: 'approve', args: [permit2, amount] })
  return sendAs(url, from, usdc, data)
}

/** The call by which the owner of a nonce cancels it, or other bits of its word. */
export function permit2Invalidation(nonce: bigint, mask = 1n << (nonce & 255n)): Hex {
  const { abi } = readArtifact('Permit2')
  const args = [nonce >> 8n, mask]
  return encodeFunctionData({ abi, functionName: 'invalidateUnorderedNonces', args })
}

/** The call of the proxy of `exact` that anybody may send. */
export function exactPermit2Call({ paymentPayload }: Permit2Body, signature?: Hex): Hex {
  const { permit2Authorization: signed, signature: own } = paymentPayload.payload
  const { abi } = readArtifact('ExactPermit2Proxy')
  const permit = { permitted: signed.permitted, nonce: signed.nonce, deadline: signed.deadline }
  const args = [permit, signed.from, signed.witness, signature ?? own]
  return encodeFunctionData({ abi, functionName: 'settle', args })
}

/** A payer with so much USDC of which Permit2 may take so much. */
export async function aPermit2Payer(url: string, held = 1_000_000n, allowed = held) {
  const signer = anAccount()
  await mintUsdc(url, signer.address, held)
  if (allowed > 0n) await approvePermit2(url, signer.address, allowed)
  return { signer, from: signer.address }
}
