import { circleTokens } from '@arcus/protocol/x402/currencies'
import type {
  GuardedAnswer,
  GuardedFetch,
  GuardedRequest,
} from '../../../src/directory/probe/guarded-fetch.js'
import { bazaar } from './a-402.js'

interface Terms {
  payTo: string
  price: string
  asset: string
  name: string
}

/**
 * The endpoints of everybody who lists. They ask for what the latest write said, unless a test gives an answer by the URL
 * without its query. Only hosts with `example` in their names are imitated; others are called.
 */
export function startSellers() {
  const terms = new Map<string, Terms>()
  const sellers = {
    answers: new Map<string, GuardedAnswer>(),
    called: [] as GuardedRequest[],
    /** Runs before each answer, which waits for it. */
    before: (): unknown => undefined,
  }

  function answerTo({ url }: GuardedRequest): GuardedAnswer {
    const place = placeOf(url)
    const asked = terms.get(place)
    const own = sellers.answers.get(place)
    return own ?? (asked === undefined ? away : asking(url, asked))
  }

  return Object.assign(sellers, {
    around(guarded: GuardedFetch): GuardedFetch {
      return async (request) => {
        sellers.called.push(request)
        if (!new URL(request.url).hostname.includes('example')) return guarded(request)
        await sellers.before()
        return answerTo(request)
      }
    },
    /** Takes the terms from the body of a request that writes a listing. */
    note(request: unknown): void {
      const { payTo, endpoints } = (request as { body?: Listed } | undefined)?.body ?? {}
      if (payTo === undefined || !Array.isArray(endpoints)) return
      for (const { url, price, currency = 'USD' } of endpoints) {
        const token = circleTokens['eip155:5042'].find((it) => it.currency === currency)
        if (!URL.canParse(url) || token === undefined) continue
        terms.set(placeOf(url), { payTo, price, asset: token.address, name: token.symbol })
      }
    },
  })
}

interface Listed {
  payTo?: string
  endpoints?: { url: string; price: string; currency?: string }[]
}

function placeOf(text: string): string {
  const { origin, pathname } = new URL(text)
  return origin + pathname
}

/** An endpoint that no call reaches. */
export const away: GuardedAnswer = {
  kind: 'unreachable',
  code: 'ENOTFOUND',
  message: 'The host name does not resolve to an address.',
}

/** An answer of an endpoint with this status. */
export function answering(status: number, headers: Record<string, string> = {}): GuardedAnswer {
  return { kind: 'answer', head: { status, headers }, body: '{}', bodyBytes: 2 }
}

function asking(url: string, { payTo, price, asset, name }: Terms): GuardedAnswer {
  const required = {
    x402Version: 2,
    resource: { url, mimeType: 'application/json' },
    extensions: { bazaar },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:5042',
        amount: price,
        asset,
        payTo,
        maxTimeoutSeconds: 60,
        extra: { name, version: '2' },
      },
    ],
  }
  const header = Buffer.from(JSON.stringify(required)).toString('base64')
  return answering(402, { 'payment-required': header })
}
