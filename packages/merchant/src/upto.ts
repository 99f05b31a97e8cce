import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SchemeNetworkServer } from '@x402/core/types'

const REFRESH_MS = 60_000
/** A facilitator that is away, or settles no `upto` yet, is asked again sooner. */
const RETRY_MS = 5_000
const FIRST_WAIT_MS = 2_000
const SPONSORING = 'eip2612GasSponsoring'

export type UptoWallets = ReturnType<typeof createUptoWallets>

/**
 * Keeps the wallets by which a facilitator settles `upto`. A buyer signs for one of them, and only that one can bring the
 * payment on chain.
 */
export function createUptoWallets(facilitator: FacilitatorClient) {
  const offers = new Map<string, string>()
  let wallets = new Set<string>()
  let isSponsored = false
  let askAgainAt = 0
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    try {
      const { kinds, extensions, signers } = await facilitator.getSupported()
      offers.clear()
      for (const { scheme, network, extra } of kinds) {
        const wallet = extra?.facilitatorAddress
        if (scheme === 'upto' && typeof wallet === 'string') offers.set(network, wallet)
      }
      const all = [...Object.values(signers).flat(), ...offers.values()]
      wallets = new Set(all.map((wallet) => wallet.toLowerCase()))
      isSponsored = extensions.includes(SPONSORING)
      askAgainAt = Date.now() + (offers.size > 0 ? REFRESH_MS : RETRY_MS)
    } catch {
      // The last answer stays good: the facilitator refuses what it no longer settles.
      askAgainAt = Date.now() + RETRY_MS
    }
  }

  return {
    /**
     * Asks the facilitator, unless it was asked shortly before: within the last minute where it settles `upto`. Never
     * rejects, and takes two seconds at most.
     */
    async refresh(): Promise<void> {
      if (Date.now() < askAgainAt) return
      asking ??= ask().finally(() => {
        asking = undefined
      })
      if (offers.size > 0) return
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FIRST_WAIT_MS)
      })
      await Promise.race([asking, late])
      clearTimeout(timer)
    },
    /** Returns the wallet that a 402 names; `undefined` while the facilitator does not settle `upto` on the network. */
    offered: (network: string) => offers.get(network),
    /** Returns whether the facilitator pays the gas of a buyer's first approval (`eip2612GasSponsoring`). */
    isSponsored: () => isSponsored,
    /**
     * Returns the requirements with the wallet of this payment, where it is one of the facilitator's: an earlier 402 may
     * have named another one than the next will.
     */
    withWalletOf({ accepted }: PaymentPayload, asked: PaymentRequirements): PaymentRequirements {
      const wallet = accepted.extra?.facilitatorAddress
      if (asked.scheme !== 'upto' || typeof wallet !== 'string') return asked
      if (!wallets.has(wallet.toLowerCase())) return asked
      return { ...asked, extra: { ...asked.extra, facilitatorAddress: wallet } }
    },
  }
}

/**
 * The server half of the scheme, as far as it is used here: prices are read by this package. The one of `@x402/evm` loads
 * viem.
 */
export const uptoScheme: SchemeNetworkServer = {
  scheme: 'upto',
  defaultAssetTransferMethod: 'permit2',
  paymentFlows: { permit2: { supported: ['authorization'], default: 'authorization' } },
  parsePrice: async () => {
    throw new Error('prices are read before')
  },
  enhancePaymentRequirements: async (requirements) => requirements,
}

/** Returns the requirement for `upto` next to that of `exact`; the wallet is added when it is offered. */
export function uptoOffer(exact: PaymentRequirements): PaymentRequirements {
  const extra = { ...exact.extra, assetTransferMethod: 'permit2' }
  return { ...exact, scheme: 'upto', extra }
}

/** Declares that buyers may sign their first approval of Permit2 instead of sending it. */
export const sponsoringExtension = {
  [SPONSORING]: {
    info: {
      description:
        'The facilitator sends your signed approval of Permit2 (EIP-2612) and pays its gas.',
      version: '1',
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      required: ['from', 'asset', 'spender', 'amount', 'nonce', 'deadline', 'signature', 'version'],
    },
  },
} as const
