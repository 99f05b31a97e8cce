import type { SupportedAnswer, TakenAsset } from '@arcus/protocol/answers/payments'
import type { FacilitatorAnswer } from '@arcus/protocol/answers/service'
import { FACILITATOR_ATTESTATION } from '@arcus/protocol/x402/attestation'
import { BATCH_SETTLEMENT } from '@arcus/protocol/x402/batch-request'
import { PAYMENT_IDENTIFIER } from '@arcus/protocol/x402/payment-identifier'
import { GAS_SPONSORING } from '@arcus/protocol/x402/request-schemas'
import type { Address } from 'viem'
import { TOKEN_DECIMALS } from '../chain/token.js'
import type { Attestor } from './methods/attestor.js'
import type { Network, NetworkTerms } from './methods/network.js'
import type { Relayer } from './relayer/relayer.js'
import type { FacilitatorSettings } from './settings.js'

interface SupportedKind {
  scheme: 'exact' | 'upto' | 'batch-settlement'
  network: string
  extra: {
    assets: readonly TakenAsset[]
    /** How `exact` moves the tokens, and how deposits of `batch-settlement` do. */
    assetTransferMethods?: readonly ('eip3009' | 'permit2')[]
    /** The wallet that payers of `upto` name. */
    facilitatorAddress?: Address
  }
}

/** Says which tokens are taken, with the domain that a requirement must quote. */
export function describeAssets(
  { tokens }: Pick<NetworkTerms, 'tokens'>,
  checksum: (address: Address) => Address,
): TakenAsset[] {
  return [...tokens.values()].map(({ address, symbol, name, version, currency, minAmount }) => ({
    address: checksum(address),
    symbol,
    decimals: TOKEN_DECIMALS,
    name,
    version,
    currency,
    minAmount: minAmount.toString(),
  }))
}

/** Makes the answer of `/supported`: schemes and extensions come and go with their contracts. */
export function createSupported({
  networks,
  attestor,
  checksum,
}: {
  networks: readonly Network[]
  attestor: Attestor | undefined
  checksum: (address: Address) => Address
}): () => SupportedAnswer {
  const nextWallet = createWalletTurns(checksum)

  function kindsOf({ terms, relayer, permit2, isBatchOffered }: Network): SupportedKind[] {
    const { network } = terms
    const { isOffered, multicall } = permit2
    const extra = { assets: describeAssets(terms, checksum) }
    const assetTransferMethods: ('eip3009' | 'permit2')[] = ['eip3009']
    if (isOffered('exact')) assetTransferMethods.push('permit2')
    const kinds: SupportedKind[] = [
      { scheme: 'exact', network, extra: { ...extra, assetTransferMethods } },
    ]
    if (isOffered('upto')) {
      const shared = multicall()
      const facilitatorAddress = shared ? checksum(shared.address) : nextWallet(relayer)
      kinds.push({ scheme: 'upto', network, extra: { ...extra, facilitatorAddress } })
    }
    if (isBatchOffered()) {
      const byDeposit = { ...extra, assetTransferMethods: ['eip3009'] as const }
      kinds.push({ scheme: BATCH_SETTLEMENT, network, extra: byDeposit })
    }
    return kinds
  }

  return () => {
    const wallets = new Set(networks.flatMap(({ relayer }) => relayer.addresses))
    return {
      kinds: networks.flatMap(kindsOf).map((kind) => ({ x402Version: 2, ...kind })),
      extensions: [
        'bazaar',
        PAYMENT_IDENTIFIER,
        ...(attestor === undefined ? [] : [FACILITATOR_ATTESTATION]),
        ...(networks.some(isPermit2Offered) ? [GAS_SPONSORING] : []),
      ],
      signers: { 'eip155:*': [...wallets].map(checksum) },
    }
  }
}

/**
 * Makes the choice of the wallet that the payers of `upto` name. The wallets that can send take turns, so that merchants,
 * who ask once at their start, spread over them.
 */
function createWalletTurns(checksum: (address: Address) => Address) {
  let turn = 0
  return ({ addresses, canSend }: Pick<Relayer, 'addresses' | 'canSend'>): Address => {
    const able = addresses.filter((address) => canSend([address]))
    const choices = able.length > 0 ? able : addresses
    return checksum(choices[turn++ % choices.length] as Address)
  }
}

/** Returns whether payments by Permit2 are settled on a network, for which a buyer may sign a permit instead of approving. */
function isPermit2Offered({ permit2 }: Network): boolean {
  return permit2.isOffered('exact') || permit2.isOffered('upto')
}

/** Returns what `/.well-known/x402` says about this facilitator, apart from what comes and goes. */
export function describeFacilitator(
  { baseUrl, networks: places }: FacilitatorSettings,
  open: readonly Network[],
  attestor: Attestor | undefined,
  checksum: (address: Address) => Address,
): Omit<FacilitatorAnswer, keyof SupportedAnswer | 'x402Version' | 'resources'> {
  return {
    facilitator: baseUrl,
    networks: open.map(({ terms, name, relayer }) => ({
      network: terms.network,
      chainId: terms.chainId,
      name,
      explorerUrl: places.find((it) => it.network === terms.network)?.explorerUrl ?? null,
      assets: describeAssets(terms, checksum),
      relayers: relayer.addresses.map(checksum),
    })),
    attestation: attestor ? { format: 'eip712', facilitator: attestor.address } : null,
  }
}
