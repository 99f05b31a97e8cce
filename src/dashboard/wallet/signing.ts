import { useQueryClient } from '@tanstack/react-query'
import { createSiweMessage } from 'viem/siwe'
import { type Config, useConfig } from 'wagmi'
import { getConnection, signMessage, signTypedData, switchChain } from 'wagmi/actions'
import { createListingClient, type ListingClient } from '../../listing-client/client.js'
import { requestJson, sendJson } from '../api/http.js'
import { sameAddress } from '../format/untrusted-text.js'
import { useOtherOrigin } from './account-bar.js'
import { endSession, whenEnded } from './session.js'
import { useListedNetwork } from './wallet-provider.js'

interface SignInTerms {
  nonce: string
  domain: string
  uri: string
  chainId: number
  version: '1'
  statement: string
}

/** Nobody is connected whose signature could be asked for. */
export class NoWalletError extends Error {
  override readonly name = 'NoWalletError'
}

/** The page stands at an address that the directory takes no signatures for. */
export class WrongOriginError extends Error {
  override readonly name = 'WrongOriginError'
}

/** Signed writes and the sign-in, by the wallet that is connected at that moment and on the right chain. */
export function useSigning() {
  const config = useConfig()
  const client = useQueryClient()
  const { chainId } = useListedNetwork()
  const otherOrigin = useOtherOrigin()

  /** Wallets refuse typed data of another chain than theirs, so the chain comes first. */
  async function signer() {
    const { address } = getConnection(config)
    if (address === undefined) throw new NoWalletError('Connect a wallet first.')
    if (otherOrigin !== undefined) {
      throw new WrongOriginError(
        `Open this page at ${otherOrigin} to sign: only that address counts.`,
      )
    }
    await toChain(config, chainId)
    return address
  }

  return {
    /** Asks for one signature and sends what it is for. */
    async write<Result>(act: (client: ListingClient) => Promise<Result>): Promise<Result> {
      const address = await signer()
      return act(
        createListingClient({
          directoryUrl: location.origin,
          signer: {
            address,
            signTypedData: (typedData) => signTypedData(config, { ...typedData, account: address }),
          },
        }),
      )
    },
    /** Opens a session that may read the figures of the wallet's listings, and change nothing. */
    async signIn(): Promise<{ address: string; expiresAt: number }> {
      const address = await signer()
      const terms = await requestJson<SignInTerms>('/api/session/nonce')
      const { nonce, domain, uri, version, statement } = terms
      const message = createSiweMessage({
        address,
        chainId: terms.chainId,
        domain,
        nonce,
        statement,
        uri,
        version,
        issuedAt: new Date(),
      })
      const signature = await signMessage(config, { message, account: address })
      await whenEnded()
      const body = { message, signature }
      const session = await sendJson<{ address: string; expiresAt: number }>(
        'POST',
        '/api/session',
        body,
      )
      if (sameAddress(getConnection(config).address, address)) return session
      endSession(client)
      throw new NoWalletError('The wallet left this account meanwhile. Sign in again with it.')
    },
  }
}

async function toChain(config: Config, chainId: number): Promise<void> {
  if (getConnection(config).chainId !== chainId) await switchChain(config, { chainId })
}
