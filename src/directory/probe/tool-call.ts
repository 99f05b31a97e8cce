import { cleanText } from '@arcus/protocol/listing/text'
import { defined, memberOf } from '@arcus/protocol/x402/json'
import {
  type McpConversation,
  McpError,
  type McpTransport,
  type Message,
  openConversation,
  requiredIn,
  VISIBLE,
} from '@arcus/protocol/x402/mcp'
import { type GuardedAnswer, type GuardedFetch, headOf } from './guarded-fetch.js'
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
/** A list holds the schemas of many tools. */
const LIST_BYTES = 256 * 1024
const MAX_DESCRIPTION_CHARS = 1_000

/** Ends a conversation: the server is not reached, or speaks another language. */
class Failure extends Error {
  readonly verdict: Verdict

  constructor(verdict: Verdict) {
    super(verdict.message)
    this.verdict = verdict
  }
}

/**
 * Calls a tool without payment, as a client of MCP does (streamable HTTP), and checks the payment that its result asks for.
 * The tool must be in the list of its server, because agents find it there.
 */
export async function checkTool(
  fetch: GuardedFetch,
  target: ToolTarget,
  expected: Expected,
): Promise<Verdict & { tool?: ListedTool }> {
  const checked = await converse(fetch, target.url, async (session) => {
    const listed = await readTools(session)
    const tool = listed.find(({ name }) => name === target.toolName)
    if (tool === undefined) {
      const message = `The MCP server has no tool of the name ${target.toolName}: list one that its tools/list names.`
      return verdict('tool_missing', message, { tools: listed.length })
    }
    const params = { name: target.toolName, arguments: target.arguments }
    const called = await session.request('tools/call', params)
    const hasSchema = expected.hasSchema || tool.inputSchema !== undefined
    return { ...checkResult(called, { ...expected, hasSchema }), tool }
  })
  return checked.ok ? checked.value : checked.verdict
}

/** Lists the tools of an MCP server. */
export function listTools(
  fetch: GuardedFetch,
  url: string,
): Promise<ToolOutcome<readonly ListedTool[]>> {
  return converse(fetch, url, readTools)
}

type ToolOutcome<Value> = { ok: true; value: Value } | { ok: false; verdict: Verdict }

/** Talks with an MCP server through the guard. Never rejects for anything that the server does. */
async function converse<Value>(
  fetch: GuardedFetch,
  url: string,
  talk: (session: McpConversation) => Promise<Value>,
): Promise<ToolOutcome<Value>> {
  try {
    const session = await openConversation(throughGuard(fetch, url), 'arcus-probe')
    return { ok: true, value: await talk(session) }
  } catch (error) {
    if (error instanceof Failure) return { ok: false, verdict: error.verdict }
    if (error instanceof McpError) return { ok: false, verdict: notMcp(error.message).verdict }
    throw error
  }
}

function throughGuard(fetch: GuardedFetch, url: string): McpTransport {
  const deadline = performance.now() + PROBE_MS
  return async ({ maxBytes, ...request }) => {
    if (performance.now() > deadline) {
      const late =
        'The MCP server did not answer in time, all calls together. It is tried again later.'
      throw new Failure(verdict('unreachable', late, { failure: 'timeout' }))
    }
    const { accept = '', ...headers } = request.headers
    const answer = await fetch({
      ...request,
      url,
      method: 'POST',
      accept,
      headers,
      ...defined({ bodyBytes: maxBytes }),
    })
    const head = headOf(answer)
    // A server may answer a notification as it likes.
    const failure = request.isWhole && failureOf(answer)
    if (failure !== undefined) throw new Failure(failure)
    return {
      status: head?.status ?? 0,
      sessionId: head?.headers['mcp-session-id'],
      body: answer.kind === 'answer' ? answer.body : '',
    }
  }
}

/** Checks the message that answers `tools/call`, by the MCP transport of x402. */
function checkResult(message: Message, expected: Expected): Verdict {
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

async function readTools(session: McpConversation): Promise<ListedTool[]> {
  const tools: ListedTool[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = typeof cursor === 'string' ? { cursor } : {}
    const { result } = await session.request('tools/list', params, LIST_BYTES)
    const listed = memberOf(result, 'tools')
    if (!Array.isArray(listed)) throw notMcp('answered tools/list with no tools')
    tools.push(...listed.slice(0, MAX_TOOLS).flatMap(readTool))
    cursor = memberOf(result, 'nextCursor')
    if (typeof cursor !== 'string') break
  }
  return tools.slice(0, MAX_TOOLS)
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

function notMcp(what: string): Failure {
  const message = `The server ${what}: it must speak the Model Context Protocol over streamable HTTP.`
  return new Failure(verdict('not_mcp', message))
}
