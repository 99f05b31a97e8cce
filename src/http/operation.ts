import type { DescribedCode, RouteFamily } from '@arcus/protocol/answers/errors'
import type { FastifyCorsOptions } from '@fastify/cors'

/** The groups in which the documentation shows operations, in this order. */
export const tags = {
  Payments: 'Verify a signed payment, settle it, look it up.',
  Discovery: 'Paid APIs that settle here, for agents and people.',
  Directory: 'Merchants and their listings; writes are signed by the wallet that owns them.',
  Activity: 'Verifies and settles at the endpoints of a merchant.',
  Session: 'Sign in with a wallet, to read only.',
  Service: 'State, settings and description of this service.',
} as const

export type Tag = keyof typeof tags

/** A route as it is documented. The forms of its requests and answers are in the table of routes. */
export interface Operation {
  /** Unique in the document. Generated clients use it as the name of the call. */
  id: string
  tag: Tag
  /** One line without a full stop. */
  summary: string
  /** Markdown. */
  description?: string
  /** True if the route needs the cookie of a session. */
  needsSession?: boolean
  /** The answers to a request that succeeds, by status. All but a 304 have the form of the table. */
  answers: Readonly<Record<number, AnswerDescription>>
  /** Its own refusals. Every route has some more. */
  codes?: readonly DescribedCode[]
}

/** A description, with those of the headers by name if there are some to describe. */
type AnswerDescription = string | { description: string; headers: Readonly<Record<string, string>> }

/** Returns the answers of a read that may be kept for a minute. */
export function cached(description: string): Operation['answers'] {
  const headers = { ETag: 'For If-None-Match.', 'Cache-Control': 'How long it may be kept.' }
  return {
    200: { description, headers },
    304: { description: 'Unchanged: the caller has it already, as If-None-Match says.', headers },
  }
}

/**
 * `counted`: each request counts and is refused past the limit. `manual`: the handler asks the limiter itself.
 * `exempt`: neither.
 */
type RouteLimit = 'counted' | 'manual' | 'exempt'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `plain` unless given. */
    family?: RouteFamily
    /** `counted` unless given, so that a new route is never forgotten. */
    limit?: RouteLimit
    /** Set to `false` by `installCors` on routes that other origins must not call. A route may bring rules of its own. */
    cors?: false | FastifyCorsOptions
    /** Describes the route in the documentation. */
    operation?: Operation
    /** The request is sent on to the server of the other half. */
    isForwarded?: boolean
    /** A page of the console. Unknown addresses below it are the page as well, with a 404. */
    isPage?: boolean
  }
}

/** A route of Fastify together with its operation. */
export interface DescribedRoute {
  method: string
  /** With `:name` for parameters. */
  url: string
  family: RouteFamily
  limit: RouteLimit
  operation: Operation
}

/** Describes a route, which is given as `GET /path/:name`. */
export function described(
  route: string,
  operation: Operation,
  { family = 'plain', limit = 'counted' }: { family?: RouteFamily; limit?: RouteLimit } = {},
): DescribedRoute {
  const [method = '', url = ''] = route.split(' ')
  return { method, url, family, limit, operation }
}

/** Returns route options that contain nothing but the documentation. */
export function describedAs(operation: Operation) {
  return { config: { operation } }
}
