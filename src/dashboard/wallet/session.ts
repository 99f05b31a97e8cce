import { type QueryClient, useQuery } from '@tanstack/react-query'
import { type Config, useConnection } from 'wagmi'
import { getConnection, watchConnection } from 'wagmi/actions'
import { requestJson } from '../api/http.js'
import { countEnding, sessionQuery } from '../api/queries.js'
import { sameAddress } from '../format/untrusted-text.js'

/** A session opens private figures, and is meant for the account that signed in, while that account is connected. */

/** The service knows it by this name: a session that comes with it opens nothing. */
const SIGNED_OUT_COOKIE = 'arcus_signed_out'
/** Longer than a session. */
const SIGNED_OUT_SECONDS = 7_200

const tabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel('arcus:session') : undefined
let told: Promise<unknown> = Promise.resolve()

/** The session of the account that is connected; `null` where there is none, `undefined` until that is known. */
export function useSession() {
  const query = useQuery(sessionQuery)
  const { address, status } = useConnection()
  const { data } = query
  const isComing = status === 'connecting' || status === 'reconnecting'
  const isOwn = data != null && sameAddress(data.address, address)
  return { ...query, data: data === undefined || isOwn ? data : isComing ? undefined : null }
}

/**
 * Ends the session here, in other tabs and at the service. The session's own cookie is out of reach of a script, and the
 * service may be too, so another cookie says at once that it is over.
 */
export function endSession(client: QueryClient): void {
  const isSecure = location.protocol === 'https:' ? '; secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous, and not in every browser
  document.cookie = `${SIGNED_OUT_COOKIE}=1; path=/api; max-age=${SIGNED_OUT_SECONDS}; samesite=strict${isSecure}`
  forgetSession(client)
  tabs?.postMessage('ended')
  told = requestJson('/api/session', { method: 'DELETE', keepalive: true }).catch(() => undefined)
}

/** Takes what a session opened off the screen and out of memory. */
export function forgetSession(client: QueryClient): void {
  countEnding()
  client.setQueryData(sessionQuery.queryKey, null)
  client.removeQueries({ queryKey: ['activity'] })
}

/** Resolves when the service has heard of the last ending, or cannot: it would else take a new session for the old. */
export async function whenEnded(): Promise<void> {
  await told
}

/** For the life of the page: ends the session when its account leaves, on whatever page that is noticed. */
export function watchAccount(config: Config, client: QueryClient): void {
  let last: string | undefined
  watchConnection(config, {
    onChange({ address, status }) {
      if (status !== 'connected' && status !== 'disconnected') return
      if (last !== undefined && !sameAddress(last, address)) endSession(client)
      else if (last === undefined && address !== undefined) void compare(config, client)
      last = address
    },
  })
  tabs?.addEventListener('message', () => forgetSession(client))
  // A page that the browser kept may show what was ended meanwhile.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) void client.resetQueries({ queryKey: sessionQuery.queryKey })
  })
}

/** The account may have changed while no page was open. */
async function compare(config: Config, client: QueryClient): Promise<void> {
  const session = await client.fetchQuery(sessionQuery).catch(() => null)
  const { address } = getConnection(config)
  if (session !== null && address !== undefined && !sameAddress(session.address, address)) {
    endSession(client)
  }
}
