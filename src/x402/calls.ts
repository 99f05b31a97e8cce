/*
 * How a paid resource is called. The console uses this too, so nothing here may need Node.
 */

/** The ways to call a resource: the methods of HTTP, and `MCP` for a tool of an MCP server. */
export const callMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'MCP'] as const
export type CallMethod = (typeof callMethods)[number]

/** Methods whose call could change something, so that Arcus never makes it, not even without a payment. */
export const uncalledMethods: readonly CallMethod[] = ['PUT', 'PATCH', 'DELETE']

export const bodyTypes = ['json', 'form-data', 'text'] as const
export const mcpTransports = ['streamable-http', 'sse'] as const

/** Example values of a call. The members belong to a kind of method each; query parameters may stand beside a body. */
export interface CallExample {
  queryParams?: Record<string, unknown>
  /** `json` unless given. */
  bodyType?: (typeof bodyTypes)[number]
  body?: unknown
  /** Shown to buyers, and never sent by Arcus. */
  headers?: Record<string, unknown>
  /** Arguments of a tool. */
  arguments?: Record<string, unknown>
}

/** Returns the member of an example that holds the parameters, which are what the input schema is about. */
export function parametersIn(method: CallMethod): 'queryParams' | 'body' | 'arguments' {
  if (method === 'MCP') return 'arguments'
  return isBodyMethod(method) ? 'body' : 'queryParams'
}

export function isBodyMethod(method: unknown): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

/** A call that can be paid for: a URL with a method, or one tool of the MCP server at that URL. */
export interface CallTarget {
  url: string
  method: CallMethod
  /** Only with `MCP`. */
  toolName?: string | undefined
}

/** Returns a text that is the same for two targets only if they are one. */
export function targetKey({ url, method, toolName = '' }: CallTarget): string {
  return `${method} ${url} ${toolName}`
}

/** Names of tools as MCP has them, and of the older servers that are freer with them. */
export const TOOL_NAME = /^[\x21-\x7e]{1,128}$/

export function isOneOf<const Value>(values: readonly Value[], value: unknown): value is Value {
  return values.includes(value as Value)
}
