import { ArcusError, type CallOptions, request } from '@arcus/client/calls'

/** Longer than any read takes, and short enough that nobody looks at an old figure for long. */
const READ_MS = 15_000
/** A write may call every endpoint of a listing before it is answered. */
const WRITE_MS = 120_000

/** Reads JSON from the service that serves this page. Rejects with `ArcusError`, or with the reason of the signal. */
export function requestJson<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  return within(READ_MS, options.signal, (signal) =>
    request('GET', path, undefined, { ...options, signal }),
  ) as Promise<Answer>
}

export function sendJson<Answer>(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  return within(WRITE_MS, options.signal, (signal) =>
    request(method, path, body, { ...options, signal }),
  ) as Promise<Answer>
}

/** The `fetch` of the client that writes listings. Its answers are whole, so that the limit holds for bodies too. */
export const boundedFetch: typeof fetch = (input, init) =>
  within(WRITE_MS, init?.signal ?? undefined, async (signal) => {
    const answer = await fetch(input, { ...init, signal })
    const body = await answer.text()
    return new Response(body === '' ? null : body, answer)
  })

/** Gives a request a time limit in addition to the signal of its caller. */
async function within<Answer>(
  ms: number,
  given: AbortSignal | undefined,
  send: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const limit = new AbortController()
  const leave = () => limit.abort(given?.reason)
  given?.addEventListener('abort', leave)
  if (given?.aborted === true) leave()
  const timer = setTimeout(() => {
    const message = `Arcus did not answer within ${ms / 1_000} seconds.`
    limit.abort(new ArcusError('unreachable', message))
  }, ms)
  try {
    return await send(limit.signal)
  } finally {
    clearTimeout(timer)
    given?.removeEventListener('abort', leave)
  }
}
