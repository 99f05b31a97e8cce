import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { RequestFault } from './errors.js'

/** The time that a browser waits before it connects again. */
const RETRY_MS = 5_000

/** Begins a stream of server-sent events. The reply is out of Fastify's hands then. */
export function openEventStream(reply: FastifyReply): ServerResponse {
  reply.hijack()
  const response = reply.raw
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    // A kept connection would keep the server from closing.
    connection: 'close',
  })
  response.write(`retry: ${RETRY_MS}\n\n`)
  return response
}

/** A bound on streams with the same value of a member. */
export interface StreamBound<Member extends string> {
  member: Member
  most: number
  /** The end of `at most 8 pages …`. */
  label: string
}

/** Throws a 503 where so many streams are open already that nobody else would find a place. */
export function refuseCrowd<Member extends string>(
  open: readonly Record<Member, string>[],
  newcomer: Record<Member, string>,
  { inAll, bounds, verb }: { inAll: number; bounds: readonly StreamBound<Member>[]; verb: string },
): void {
  const full = bounds.find(
    ({ member, most }) => open.filter((one) => one[member] === newcomer[member]).length >= most,
  )
  if (full === undefined && open.length < inAll) return
  const what = full === undefined ? `${inAll} pages` : `${full.most} pages ${full.label}`
  throw new RequestFault({
    statusCode: 503,
    code: 'busy',
    message: `At most ${what} may ${verb} at once.`,
    headers: { 'retry-after': '5' },
  })
}
