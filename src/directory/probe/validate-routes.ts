import { type Validation, validateBody } from '@arcus/protocol/answers/discovery'
import { httpCodes } from '@arcus/protocol/answers/errors'
import { type CallExample, isBodyMethod, parametersIn } from '@arcus/protocol/x402/calls'
import { findToken } from '@arcus/protocol/x402/currencies'
import { defined, isObject } from '@arcus/protocol/x402/json'
import type { FastifyInstance } from 'fastify'
import { describedAs, type Operation } from '../../http/operation.js'
import { callerOf } from '../../http/rate-limit.js'
import { readBody } from '../refusals.js'
import type { CallBudget, HostPace } from './call-limits.js'
import type { GuardedFetch } from './guarded-fetch.js'
import { inputHintsOf } from './payment-required.js'
import { checkEndpoint, type Market, type ProbedCall } from './probe.js'
import { checkTarget, hostKey, type TargetRules } from './target-rules.js'
import { listTools } from './tool-call.js'
import { checkFailure, type Expected, verdict } from './verdict.js'

const validateOperation: Operation = {
  id: 'validateEndpoint',
  tag: 'Discovery',
  summary: 'Probe any endpoint, and draft a listing from its live 402',
  description:
    'The endpoint is called once, without payment, through a guard that reaches public addresses only. PUT, PATCH and DELETE are never called. With method MCP the server is greeted, its tools are listed, and the tool is called as far as its 402.',
  answers: { 200: 'The verdict.' },
  codes: [httpCodes.rate_limited],
}

interface ValidateRoutesOptions {
  validator: Validator
  /** The budget that probes on request share. */
  budget: CallBudget
  /** The pace that the schedule shares. */
  pace: HostPace
}

/** Serves `POST /discovery/validate`: the verdict of a probe for anybody, and a listing drafted from the live 402. */
export async function validateRoutes(
  app: FastifyInstance,
  { validator, budget, pace }: ValidateRoutesOptions,
): Promise<void> {
  app.post('/discovery/validate', describedAs(validateOperation), async (request, reply) => {
    const wanted = readCall(request.body)
    reply.header('cache-control', 'no-store')
    // A refusal by the text of the URL makes no call, so it is not counted.
    const refused = validator.refuse(wanted)
    if (refused !== undefined) return refused
    const { url } = wanted
    return budget.spend(callerOf(request.ip), hostKey(url), () =>
      pace.inTurn(url, () => validator.validate(wanted)),
    )
  })
}

/** Reads the body of a request as a call. */
function readCall(raw: unknown): ProbedCall {
  const wanted = readBody(validateBody, raw)
  const { url, method } = wanted
  if (wanted.method === 'MCP') {
    const { toolName, arguments: given = {} } = wanted
    const example = { arguments: given as Record<string, unknown> }
    return { url, method, ...defined({ toolName }), example }
  }
  const { queryParams } = wanted
  if (!isBodyMethod(method)) return { url, method, example: { queryParams: queryParams ?? {} } }
  const { body = {}, bodyType } = { bodyType: undefined, ...wanted }
  return { url, method, example: { ...defined({ bodyType }), body, ...defined({ queryParams }) } }
}

interface ValidatorOptions extends Market {
  fetch: GuardedFetch
  rules: TargetRules
  /** Unix milliseconds. */
  now: () => number
}

type Validator = ReturnType<typeof createValidator>

/** Creates the check of an endpoint, listed or not, as a save would make it. */
export function createValidator({ fetch, rules, now, ...market }: ValidatorOptions) {
  const expectedOf = ({ method }: ProbedCall) => ({ ...market, hasSchema: false, method })

  function toValidation(
    request: ProbedCall,
    verdict: Awaited<ReturnType<typeof checkEndpoint>>,
  ): Validation {
    const { state, message, warnings, seen } = verdict
    const checkedAt = Math.floor(now() / 1000)
    const listing = prefillListing(request, verdict, market.tokens)
    return { verdict: state, message, warnings, seen, checkedAt, listing }
  }

  /** Lists the tools of an MCP server, for the owner to choose from. */
  async function validateServer(request: ProbedCall): Promise<Validation> {
    const listed = await listTools(fetch, request.url)
    if (!listed.ok) return toValidation(request, listed.verdict)
    const tools = listed.value
    const message = `The MCP server lists ${tools.length} tools. Name one as toolName to have it checked.`
    const unnamed = verdict('tool_missing', message, { tools: tools.length })
    return { ...toValidation(request, unnamed), tools }
  }

  return {
    /** Returns the verdict on the text of the URL alone; `undefined` when the URL may be called. */
    refuse(request: ProbedCall): Validation | undefined {
      const target = checkTarget(request.url, rules)
      if (target.isAllowed) return undefined
      return toValidation(request, checkFailure({ kind: 'blocked', message: target.message }))
    },
    /** Calls the endpoint without payment. Never rejects. */
    validate: async (request: ProbedCall): Promise<Validation> =>
      request.method === 'MCP' && request.toolName === undefined
        ? validateServer(request)
        : toValidation(request, await checkEndpoint(fetch, request, expectedOf(request))),
  }
}

/** Drafts a listing from the quote of an endpoint; `null` unless it is live. */
function prefillListing(
  request: ProbedCall,
  { chosen, quoted, tool }: Awaited<ReturnType<typeof checkEndpoint>>,
  tokens: Expected['tokens'],
): Validation['listing'] {
  const token = chosen && findToken(tokens, chosen.asset)
  if (chosen === undefined || quoted === undefined || token === undefined) return null
  const { method, toolName } = request
  const { serviceName, tags } = quoted.resource
  const hints = quoted.bazaar === null ? undefined : inputHintsOf(quoted.bazaar)
  const isAboutThis = hints?.target.method === method && hints.target.toolName === toolName
  const url = new URL(request.url)
  const example = exampleOf(request, url, isAboutThis ? hints.example : undefined)
  const title = toolName ?? serviceName
  const description = tool?.description ?? quoted.resource.description
  const inputSchema = tool?.inputSchema ?? hints?.inputSchema
  return {
    // The query of an MCP server is part of its address.
    url: url.origin + url.pathname + (method === 'MCP' ? url.search : ''),
    method,
    ...defined({ toolName }),
    // The one scheme whose amount is a ceiling by definition.
    pricing: chosen.scheme === 'upto' ? 'metered' : 'fixed',
    price: chosen.amount,
    asset: chosen.asset,
    symbol: token.symbol,
    currency: token.currency,
    payTo: chosen.payTo,
    network: chosen.network,
    ...defined({ title, description, tags, inputSchema, example }),
  }
}

/** The caller's parameters go over the query of the URL, and those over the endpoint's own example. */
function exampleOf(
  { method, example: given }: ProbedCall,
  url: URL,
  hinted: CallExample | undefined,
): CallExample | undefined {
  const main = parametersIn(method)
  if (main !== 'queryParams') {
    if (isEmpty(given[main])) return isEmpty(hinted?.[main]) ? undefined : hinted
    return given
  }
  const queryParams = {
    ...hinted?.queryParams,
    ...Object.fromEntries(url.searchParams),
    ...given.queryParams,
  }
  return isEmpty(queryParams) ? undefined : { queryParams }
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0)
  )
}
