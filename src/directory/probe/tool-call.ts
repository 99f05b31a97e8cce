import { cleanText } from 'arcus-client/text'
import { findMessage, MCP_VERSION, requiredIn, VISIBLE } from 'arcus-client/tool-messages'
import { defined, memberOf } from '../../x402/json.js'
import { type CallTimes, type GuardedAnswer, type GuardedFetch, headOf } from './guarded-fetch.js'
import { cleanSchema, readPaymentRequired } from './payment-required.js'
import {
  checkFailure,
  checkRequirements,
  type Expected,
  isPassing,
  type Verdict,
  verdict,
} from './verdict.js'

/** A tool as its server lists it: texts of a stranger, bounded and cleaned. */
export interface ListedTool {
  name: string
  description?: string
  inputSchema?: Record<string, unknown>
}

interface ToolTarget {
  url: string
  toolName: string
  arguments: Record<string, unknown>
}

/** Longest time of all calls of one probe together. */
const PROBE_MS = 15_000
/** Pages of `tools/list` that are read, and tools that are kept of them. */
const MAX_PAGES = 5
const MAX_TOOLS = 200
/** A list holds the schemas of many tools, and a person's call has the whole answer. */
const LIST_BYTES = 256 * 1024
const MAX_DESCRIPTION_CHARS = 1_000

type Step<Value> = { ok: true; value: Value } | { ok: false; verdict: Verdict }

/**
 * Calls a tool without payment, as a client of MCP does (streamable HTTP), and checks the payment that its result asks for.
 * The tool must be in the list of its server, because agents find it there.
 */
export async function checkTool(
  fetch: GuardedFetch,
  target: ToolTarget,
  expected: Expected,
): Promise<Verdict & { tool?: ListedTool }> {
  const session = await openSession(fetch, target.url)
  if (!session.ok) return session.verdict
  const listed = await readTools(session.value)
  if (!listed.ok) return listed.verdict
  const tool = listed.value.find(({ name }) => name === target.toolName)
  if (tool === undefined) {
    const message = `The MCP server has no tool of the name ${target.toolName}: list one that its tools/list names.`
    return verdict('tool_missing', message, { tools: listed.value.length })
  }
  const params = { name: target.toolName, arguments: target.arguments }
  const called = await session.value.request('tools/call', params)
  if (!called.ok) return called.verdict
  const hasSchema = expected.hasSchema || tool.inputSchema !== undefined
  return { ...checkResult(called.value, { ...expected, hasSchema }), tool }
}

/**
 * Calls a tool for a person, with their payment if there is one, and returns the message that answers. `wasSent` tells
 * whether the server may have received the call. `times.totalMs` bounds all steps together.
 */
export async function callTool(
  fetch: GuardedFetch,
  target: ToolTarget,
  payment: unknown,
  times: Pick<CallTimes, 'headersMs' | 'totalMs'>,
): Promise<Step<Record<string, unknown>> & { wasSent: boolean }> {
  const session = await openSession(fetch, target.url, times)
  if (!session.ok) return { ...session, wasSent: false }
  const paid = payment === undefined ? {} : { _meta: { 'x402/payment': payment } }
  const params = { name: target.toolName, arguments: target.arguments, ...paid }
  return { ...(await session.value.request('tools/call', params, LIST_BYTES)), wasSent: true }
}

/** Lists the tools of an MCP server. */
export async function listTools(
  fetch: GuardedFetch,
  url: string,
): Promise<Step<readonly ListedTool[]>> {
  const session = await openSession(fetch, url)
  return session.ok ? readTools(session.value) : session
}

/** Checks the message that answers `tools/call`, by the MCP transport of x402. */
function checkResult(message: Record<string, unknown>, expected: Expected): Verdict {
  const { result, error } = message
  if (error !== undefined) {
    const code = memberOf(error, 'code')
    const number = typeof code === 'number' ? code : null
    return wrong(
      `The tool answered with the JSON-RPC error ${number ?? 'of no code'} instead of asking for payment: make the example one that it takes, or ask for payment before looking at arguments.`,
      { code: number },
    )
  }
  const quoted = readPaymentRequired(requiredIn(result), 'tool')
  if (quoted.kind === 'quoted') return checkRequirements(quoted, expected)
  if (quoted.kind === 'version1') {
    return wrong('The tool asks for payment in x402 version 1 only; upgrade it to version 2.', {
      x402Version: 1,
    })
  }
  return memberOf(result, 'isError') === true
    ? wrong(
        'The tool answered with an error that asks for no payment: make the example one that it takes, or ask for payment before looking at arguments.',
      )
    : wrong('The tool ran without payment: ask for payment before it runs.')
}

function wrong(message: string, seen: Verdict['seen'] = {}): Verdict {
  return verdict('not_402', message, seen)
}

/** A conversation with an MCP server. */
interface Session {
  /** Returns the message that answers, which has a result or an error. */
  request(
    method: string,
    params: object,
    bodyBytes?: number,
  ): Promise<Step<Record<string, unknown>>>
}

/**
 * Returns what tells when a stream of events has answered a request. Each whole event is looked into once, so that a server
 * which sends many small parts costs no more than another. A body of JSON ends by itself.
 */
function whenAnswered(id: number): (part: string) => boolean {
  let text = ''
  let tail = ''
  return (part) => {
    const hasEnded = /\n\n|\n\r\n|\r\r/.test(tail + part)
    text += part
    tail = (tail + part).slice(-3)
    if (!hasEnded) return false
    const end = Math.max(...['\n\n', '\n\r\n', '\r\r'].map((it) => text.lastIndexOf(it)))
    const message = findMessage(text.slice(0, end), id)
    text = text.slice(end)
    return message !== undefined
  }
}

async function openSession(
  fetch: GuardedFetch,
  url: string,
  times?: Pick<CallTimes, 'headersMs' | 'totalMs'>,
): Promise<Step<Session>> {
  const deadline = performance.now() + (times?.totalMs ?? PROBE_MS)
  const headers: Record<string, string> = {}
  let lastId = 0

  async function post(message: object, id?: number, bodyBytes?: number): Promise<GuardedAnswer> {
    return fetch({
      url,
      method: 'POST',
      accept: 'application/json, text/event-stream',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', ...message, id }),
      ...defined({ bodyBytes }),
      ...(times && { times: { ...times, totalMs: Math.max(1, deadline - performance.now()) } }),
      // A server may leave its stream of events open after the answer.
      ...(id === undefined ? {} : { isWhole: whenAnswered(id) }),
    })
  }

  const session: Session = {
    async request(method, params, bodyBytes) {
      if (performance.now() > deadline) {
        const late =
          'The MCP server did not answer in time, all calls together. It is tried again later.'
        return { ok: false, verdict: verdict('unreachable', late, { failure: 'timeout' }) }
      }
      const id = ++lastId
      const answer = await post({ method, params }, id, bodyBytes)
      const failure = failureOf(answer)
      if (failure !== undefined) return { ok: false, verdict: failure }
      const sessionId = headOf(answer)?.headers['mcp-session-id']
      if (sessionId !== undefined && VISIBLE.test(sessionId)) headers['mcp-session-id'] = sessionId
      const message = answer.kind === 'answer' ? findMessage(answer.body, id) : undefined
      return message === undefined ? notMcp(`answered ${method} with no JSON-RPC`) : ok(message)
    },
  }

  const greeting = await session.request('initialize', {
    protocolVersion: MCP_VERSION,
    capabilities: {},
    clientInfo: { name: 'arcus-probe', version: '1' },
  })
  if (!greeting.ok) return greeting
  const version = memberOf(greeting.value.result, 'protocolVersion')
  if (typeof version !== 'string') return notMcp('refused initialize')
  if (/^\d{4}-\d\d-\d\d$/.test(version)) headers['mcp-protocol-version'] = version
  await post({ method: 'notifications/initialized' })
  return ok(session)
}

async function readTools(session: Session): Promise<Step<ListedTool[]>> {
  const tools: ListedTool[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = typeof cursor === 'string' ? { cursor } : {}
    const answer = await session.request('tools/list', params, LIST_BYTES)
    if (!answer.ok) return answer
    const { result } = answer.value
    const listed = memberOf(result, 'tools')
    if (!Array.isArray(listed)) return notMcp('answered tools/list with no tools')
    tools.push(...listed.slice(0, MAX_TOOLS).flatMap(readTool))
    cursor = memberOf(result, 'nextCursor')
    if (typeof cursor !== 'string') break
  }
  return ok(tools.slice(0, MAX_TOOLS))
}

function readTool(tool: unknown): ListedTool[] {
  const name = memberOf(tool, 'name')
  const description = memberOf(tool, 'description')
  const inputSchema = cleanSchema(memberOf(tool, 'inputSchema'))
  if (typeof name !== 'string' || !VISIBLE.test(name)) return []
  const text = typeof description === 'string' ? cleanText(description, MAX_DESCRIPTION_CHARS) : ''
  return [{ name, ...defined({ description: text || undefined, inputSchema }) }]
}

/** Returns what ends a probe before any message is read. */
function failureOf(answer: GuardedAnswer): Verdict | undefined {
  // The verdicts about hosts that are not reached, and about redirects, are those of all endpoints.
  if (answer.kind !== 'answer') return checkFailure(answer)
  const { status } = answer.head
  if (status < 300) return undefined
  if (isPassing(status)) {
    const message = `The MCP server answered ${status}; it is tried again later.`
    return verdict('unreachable', message, { status })
  }
  const advice =
    status === 402
      ? 'ask for payment in the result of the tool, by the MCP transport of x402, and not by HTTP'
      : status === 401 || status === 403
        ? 'let agents list and call its tools without any other permission'
        : 'check that the URL is that of a server of streamable HTTP'
  return verdict('not_mcp', `The MCP server answered ${status}: ${advice}.`, { status })
}

function ok<Value>(value: Value): Step<Value> {
  return { ok: true, value }
}

function notMcp(what: string): Step<never> {
  const message = `The server ${what}: it must speak the Model Context Protocol over streamable HTTP.`
  return { ok: false, verdict: verdict('not_mcp', message) }
}
