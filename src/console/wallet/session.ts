import type { SessionCookies } from '@arcus/protocol/answers/session-cookies'
import { type QueryClient, useQuery } from '@tanstack/react-query'
import { type Config, useConnection } from 'wagmi'
import { getConnection, watchConnection } from 'wagmi/actions'
import { sendJson } from '../api/http.js'
import { sessionQuery } from '../api/queries.js'
import { hush } from '../components/toast.js'
import { sameAddress } from '../format/untrusted-text.js'

/*
 * A session allows reading private figures. It belongs to the account that signed in, while that account is connected.
 */

/** Longer than a session. */
const SIGNED_OUT_SECONDS = 7_200

const tabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel('arcus:session') : undefined
let lastEnding: Promise<unknown> = Promise.resolve()

/** Returns the session of the connected account: `null` if there is none, `undefined` until that is known. */
export function useSession() {
  const query = useQuery(sessionQuery)
  const { address, status } = useConnection()
  const { data } = query
  const isComing = status === 'connecting' || status === 'reconnecting'
  const isOwn = data != null && sameAddress(data.address, address)
  return { ...query, data: data === undefined || isOwn ? data : isComing ? undefined : null }
}

/**
 * Ends the session here, in other tabs and at the service. A script cannot remove the cookie of the session, and the
 * service may be unreachable, so a second cookie marks the session as ended at once.
 */
export function endSession(client: QueryClient): void {
  const isSecure = location.protocol === 'https:'
  const name: SessionCookies['signedOut'] = isSecure
    ? '__Host-arcus_signed_out'
    : 'arcus_signed_out'
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous, and not in every browser
  document.cookie = `${name}=1; path=/; max-age=${SIGNED_OUT_SECONDS}; samesite=strict${isSecure ? '; secure' : ''}`
  forgetSession(client)
  tabs?.postMessage('ended')
  lastEnding = sendJson('DELETE', '/api/session', undefined, { keepalive: true }).catch(
    () => undefined,
  )
}

/** Removes the private figures of a session from the screen and from memory. */
export function forgetSession(client: QueryClient): void {
  // An answer that is still on its way knows nothing of the ending.
  void client.cancelQueries({ queryKey: sessionQuery.queryKey })
  client.setQueryData(sessionQuery.queryKey, null)
  client.removeQueries({ queryKey: ['activity'] })
  client.removeQueries({ queryKey: ['hooks'] })
}

/** Resolves when the service has received the last ending, or could not. A sign-in before that would be ended too. */
export async function whenEnded(): Promise<void> {
  await lastEnding
}

/** Ends the session when its account leaves. Called once, it watches until the page is closed. */
export function watchAccount(config: Config, client: QueryClient): void {
  let last: string | undefined
  watchConnection(config, {
    onChange({ address, status }) {
      if (status !== 'connected' && status !== 'disconnected') return
      if (last !== undefined && !sameAddress(last, address)) {
        hush()
        endSession(client)
      } else if (last === undefined && address !== undefined) void compare(config, client)
      last = address
    },
  })
  tabs?.addEventListener('message', () => forgetSession(client))
  // A page that the browser restores may show a session that has ended meanwhile.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) void client.resetQueries({ queryKey: sessionQuery.queryKey })
  })
}

/** Ends a session whose account was changed while no page was open. */
async function compare(config: Config, client: QueryClient): Promise<void> {
  const session = await client.fetchQuery(sessionQuery).catch(() => null)
  const { address } = getConnection(config)
  if (session !== null && address !== undefined && !sameAddress(session.address, address)) {
    endSession(client)
  }
}
