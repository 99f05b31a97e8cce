/** An error answer of the service, with its message. The `status` is 0 if there was no answer. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: string
  readonly status: number
  readonly details: unknown
  /** Seconds to wait, as the service asks. */
  readonly retryAfter: number | undefined

  constructor(
    code: string,
    message: string,
    {
      status = 0,
      details,
      retryAfter,
    }: Partial<Pick<ApiError, 'status' | 'details' | 'retryAfter'>> = {},
  ) {
    super(message)
    this.code = code
    this.status = status
    this.details = details
    this.retryAfter = retryAfter
  }
}

/** Reads JSON from the service. Rejects with `ApiError`, or with the reason of the signal. */
export async function requestJson<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(path, { credentials: 'same-origin', ...init })
  } catch (cause) {
    if (init.signal?.aborted) throw cause
    throw new ApiError('unreachable', 'Arcus does not answer. Are you online?')
  }
  if (response.status === 204) return undefined as Answer
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer as Answer
  throw toApiError(response, answer)
}

export function sendJson<Answer>(method: string, path: string, body: unknown): Promise<Answer> {
  return requestJson(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

function toApiError(response: Response, answer: unknown): ApiError {
  const { error, message, details } = (answer ?? {}) as Record<string, unknown>
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
  const more = {
    status: response.status,
    details,
    retryAfter: Number.isFinite(wait) ? wait : undefined,
  }
  if (typeof error === 'string' && typeof message === 'string') {
    return new ApiError(error, message, more)
  }
  return new ApiError('unexpected_answer', `Arcus answered ${response.status}.`, more)
}

/** Adds a query to a path and leaves out empty values. */
export function withQuery(
  path: string,
  query: Record<string, string | number | boolean | null | undefined>,
): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string | number | boolean] =>
      entry[1] !== undefined && entry[1] !== null && entry[1] !== '',
  )
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}
