import { type CallOptions, request } from 'arcus-client/calls'

/** Reads JSON from the service that serves this page. Rejects with `ArcusError`, or with the reason of the signal. */
export function requestJson<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  return request('GET', path, undefined, options) as Promise<Answer>
}

export function sendJson<Answer>(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  return request(method, path, body, options) as Promise<Answer>
}
