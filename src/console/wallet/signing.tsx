import { createListingClient, type ListingClient } from '@arcus/client/listing-client'
import type { NonceAnswer, SessionAnswer } from '@arcus/protocol/answers/session'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { createSiweMessage } from 'viem/siwe'
import { useConfig } from 'wagmi'
import { getConnection, signMessage, signTypedData } from 'wagmi/actions'
import { boundedFetch, requestJson, sendJson } from '../api/http.js'
import { Notice } from '../components/card.js'
import { say } from '../components/toast.js'
import { sameAddress } from '../format/untrusted-text.js'
import { useOtherOrigin } from './other-origin.js'
import { endSession, whenEnded } from './session.js'
import { describeError, isRejection } from './wallet-error.js'
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

/**
 * Makes a signed write of a present listing. The page shows what the write returned, and reads the listing again. With
 * `done` it is said in the one place of all pages, and if the button is gone then, the focus goes to the heading of its
 * section.
 */
export function useWrite<Input, Result extends { id: string }>(
  merchantId: string,
  act: (client: ListingClient, input: Input) => Promise<Result>,
  done?: string,
) {
  const { write } = useSigning()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => write((client) => act(client, input)),
    async onSuccess(result) {
      const heading = document.activeElement?.closest('section')?.querySelector('h2')
      if ('endpoints' in result) queries.setQueryData(['merchant', merchantId], result)
      const changed = [['merchant', merchantId], ['hooks', merchantId], ['owned']]
      await Promise.all(changed.map((queryKey) => queries.invalidateQueries({ queryKey })))
      if (done === undefined) return
      say(done)
      // The page draws the fresh data first.
      setTimeout(() => document.activeElement === document.body && heading?.focus())
    },
  })
}

/** Shows how a signed write ended, or that the wallet waits for an answer. */
export function WriteOutcome({
  write,
  done,
}: {
  write: { isPending: boolean; isSuccess: boolean; error: unknown }
  /** Said here, unless it is said in the one place of all pages. */
  done?: string
}) {
  if (write.isPending) {
    return (
      <p role="status" className="text-sm text-muted">
        Answer in the wallet.
      </p>
    )
  }
  if (write.error !== null) return <WalletFault error={write.error} title="Not done" />
  return write.isSuccess && done !== undefined ? <Notice tone="ok">{done}</Notice> : null
}

/** Says why nothing was signed, or what `title` says. */
export function WalletFault({ error, title }: { error: unknown; title: string }) {
  const isRejected = isRejection(error)
  return (
    <Notice tone={isRejected ? 'info' : 'bad'} title={isRejected ? 'Not signed' : title}>
      {describeError(error)}
    </Notice>
  )
}
