import { Agent } from 'undici'
import type { GuardedFetch, GuardedRequest, OwnCalls } from './guarded-fetch.js'
import {
  checkTarget,
  createGuardedConnector,
  createPublicResolver,
  resolveLocally,
  type TargetRules,
} from './target-rules.js'

const HEADER_BYTES = 32 * 1024

/** A `fetch` for one purchase. */
export interface BuyerFetch {
  fetch: typeof globalThis.fetch
  /** Ends its connections. */
  close(): void
}

/**
 * Creates the `fetch` of a buyer. It is the one of Node, which every buyer uses, so that no seller can tell this service by
 * its requests. It keeps to the guard of the probe: it calls hosts of the public internet only, and each connection is
 * checked before a byte is sent. The caller bounds time and size, and says that redirects are not followed.
 */
export function createBuyerFetch(rules: TargetRules, ownCalls: OwnCalls): () => BuyerFetch {
  const resolve = rules.allowPrivateHosts ? resolveLocally : createPublicResolver()
  const callOwn = ownCalls.around(refuse)
  return () => {
    const closing = new AbortController()
    const connect = createGuardedConnector({
      rules,
      resolve,
      signal: closing.signal,
      onConnected() {},
    })
    const agent = new Agent({ connect, maxHeaderSize: HEADER_BYTES, allowH2: false })
    return {
      async fetch(input, init = {}) {
        const url = String(input)
        if (ownCalls.isHosted(url)) return callHosted(callOwn, url, init)
        const target = checkTarget(url, rules)
        if (!target.isAllowed) throw new TypeError(target.message)
        // The types of Node know another version of undici; its `fetch` takes this one.
        const guarded = { ...init, dispatcher: agent as unknown }
        return globalThis.fetch(url, guarded as RequestInit)
      },
      close() {
        closing.abort()
        agent.destroy().catch(() => undefined)
      },
    }
  }
}

const refuse: GuardedFetch = async () => ({ kind: 'blocked', message: 'It is not ours.' })

/** Calls an endpoint of this server without the network. */
async function callHosted(
  call: GuardedFetch,
  url: string,
  { method = 'GET', headers, body }: RequestInit,
): Promise<Response> {
  const answer = await call({
    url,
    method: method as GuardedRequest['method'],
    headers: Object.fromEntries(new Headers(headers)),
    ...(typeof body === 'string' && { body }),
    accept: '*/*',
    asBase64: true,
  })
  if (answer.kind !== 'answer') throw new TypeError('The service does not answer.')
  const { status, headers: answered } = answer.head
  return new Response(Buffer.from(answer.body, 'base64'), { status, headers: { ...answered } })
}
