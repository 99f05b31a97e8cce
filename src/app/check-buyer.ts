import { ArcusError } from '@arcus/client/calls'
import { createPay, type PaymentSigner } from '@arcus/client/pay'
import { isBodyMethod } from '@arcus/protocol/x402/calls'
import { checkTypedData } from '@arcus/protocol/x402/check-statement'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { CheckBuyer, Purchase, PurchaseResult } from '../directory/paid-checks/buyer.js'
import type { CheckSigner } from '../directory/paid-checks/open-checks.js'

/** Makes the buyer of paid checks, which pays as `@arcus/client` does; `undefined` without wallets. */
export function createCheckBuyer(keys: readonly Hex[]): CheckBuyer | undefined {
  const accounts = keys.map((key) => privateKeyToAccount(key))
  if (accounts.length === 0) return undefined
  const byAddress = new Map(accounts.map((it) => [it.address.toLowerCase() as Address, it]))
  return {
    wallets: [...byAddress.keys()],
    async buy(purchase) {
      const account = byAddress.get(purchase.wallet)
      if (account === undefined) throw new Error('the wallet is not one of the checks')
      try {
        return await buy(purchase, account)
      } catch (error) {
        return toEnd(error)
      }
    },
  }
}

type Account = ReturnType<typeof privateKeyToAccount>

async function buy(purchase: Purchase, account: Account): Promise<PurchaseResult> {
  const { item, example, network, asset, maxAmount, fetch, signal } = purchase
  const signer: PaymentSigner = {
    address: account.address,
    async signTypedData(typed) {
      const { nonce, value, validBefore } = typed.message as Record<string, string | bigint>
      // The other method of payment would leave an approval behind.
      if (typed.primaryType !== 'TransferWithAuthorization') throw new Error('not by EIP-3009')
      await purchase.beforeSigning({
        nonce: String(nonce) as Hex,
        amount: BigInt(value ?? 0),
        validBefore: Number(validBefore),
      })
      return account.signTypedData(typed as Parameters<Account['signTypedData']>[0])
    },
  }
  const { pathParams, queryParams, body, bodyType } = example
  const hasBody = isBodyMethod(String(item.metadata.input.method))
  const paid = await createPay(fetch)(item as Parameters<ReturnType<typeof createPay>>[0], {
    signer,
    maxAmount,
    network: network as `${string}:${string}`,
    asset,
    signal,
    ...(pathParams && { pathParams }),
    ...(queryParams && { queryParams }),
    ...(hasBody && { body: body ?? {} }),
    ...(bodyType && { bodyType }),
  })
  return paid.payment === undefined
    ? { kind: 'refused', isDearer: false }
    : { kind: 'answered', response: paid.response }
}

/** What the seller asked for, if it is not what the catalog says. */
const otherTerms = ['too_dear', 'not_as_listed']

function toEnd(error: unknown): PurchaseResult {
  if (!(error instanceof ArcusError)) return { kind: 'failed' }
  if (error.code === 'redirected') return { kind: 'redirected' }
  if (error.code === 'unreachable') return { kind: 'failed' }
  return { kind: 'refused', isDearer: otherTerms.includes(error.code) }
}

/** Makes the signer of verdicts of the key of attestations. */
export function createCheckSigner(privateKey: Hex): CheckSigner {
  const account = privateKeyToAccount(privateKey)
  return {
    address: account.address,
    sign: (statement) => account.signTypedData(checkTypedData(statement)),
  }
}
