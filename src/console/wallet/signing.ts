import { createListingClient, type ListingClient } from '@arcus/client/listing-client'
import type { NonceAnswer, SessionAnswer } from '@arcus/protocol/answers/session'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createSiweMessage } from 'viem/siwe'
import { useConfig } from 'wagmi'
import { getConnection, signMessage, signTypedData } from 'wagmi/actions'
import { boundedFetch, requestJson, sendJson } from '../api/http.js'
import { settingsQuery } from '../api/queries.js'
import { sameAddress } from '../format/untrusted-text.js'
import { endSession, whenEnded } from './session.js'
import { toChain, useListedNetwork } from './wallet-provider.js'

/** No connected wallet can sign. */
class NoWalletError extends Error {
  override readonly name = 'NoWalletError'
}

/** The page is open at an address for which the directory takes no signatures. */
class WrongOriginError extends Error {
  override readonly name = 'WrongOriginError'
}

/** Signs writes and the sign-in with the connected wallet, on the right chain. */
export function useSigning() {
  const config = useConfig()
  const client = useQueryClient()
  const { chainId } = useListedNetwork()
  const otherOrigin = useOtherOrigin()

  /** Returns the account to sign with. Switches the chain first, because wallets refuse typed data of another chain. */
  async function signer() {
    const { address } = getConnection(config)
    if (address === undefined) throw new NoWalletError('Connect a wallet first.')
    if (otherOrigin !== undefined) {
      throw new WrongOriginError(
        `Open this page at ${otherOrigin} to sign: the directory takes signatures for that address only.`,
      )
    }
    await toChain(config, chainId)
    return address
  }

  return {
    /** Asks for one signature and sends the signed write. */
    async write<Result>(act: (client: ListingClient) => Promise<Result>): Promise<Result> {
      const address = await signer()
      return act(
        createListingClient({
          directoryUrl: location.origin,
          fetch: boundedFetch,
          signer: {
            address,
            signTypedData: (typedData) => signTypedData(config, { ...typedData, account: address }),
          },
        }),
      )
    },
    /** Opens a session that can read the figures of the wallet's listings and change nothing. */
    async signIn(): Promise<SessionAnswer> {
      const address = await signer()
      const terms = await requestJson<NonceAnswer>('/api/session/nonce')
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
      const session = await sendJson<SessionAnswer>('POST', '/api/session', body)
      if (sameAddress(getConnection(config).address, address)) return session
      endSession(client)
      throw new NoWalletError('The wallet has changed to another account. Sign in again.')
    },
  }
}

/** Returns the origin for which the directory takes signatures, if the page was opened at another one. */
export function useOtherOrigin(): string | undefined {
  const { data } = useQuery(settingsQuery)
  if (data === undefined || !URL.canParse(data.directoryUrl)) return undefined
  const { origin } = new URL(data.directoryUrl)
  return origin === location.origin ? undefined : origin
}
