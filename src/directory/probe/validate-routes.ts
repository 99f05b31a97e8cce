import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Validation, validation } from '../../api/discovery.js'
import { httpCodes } from '../../api/errors.js'
import { describedAs, type Operation } from '../../http/operation.js'
import { callerOf } from '../../http/rate-limit.js'
import {
  bodyTypes,
  type CallExample,
  callMethods,
  isBodyMethod,
  parametersIn,
  TOOL_NAME,
} from '../../x402/calls.js'
import { findToken } from '../../x402/currencies.js'
import { defined, isObject } from '../../x402/json.js'
import { parseUrl } from '../../x402/parse-url.js'
import { readBody } from '../listings/faults.js'
import { type CallBudget, type HostPace, hostKey } from './call-limits.js'
import type { GuardedFetch } from './guarded-fetch.js'
import { inputHintsOf } from './payment-required.js'
import { checkEndpoint, type Market, type ProbedCall } from './probe.js'
import { checkTarget, type TargetRules } from './target-rules.js'
import { listTools } from './tool-call.js'
import { checkFailure, type Expected, verdict } from './verdict.js'

const MAX_URL_CHARS = 2_048
const MAX_PARAMS = 32
const MAX_PARAM_NAME_CHARS = 64
const MAX_PARAM_VALUE_CHARS = 512
const MAX_BODY_BYTES = 16 * 1024

const url = z
  .string('must be a string')
  .max(MAX_URL_CHARS, { error: `must have at most ${MAX_URL_CHARS} characters`, abort: true })
  .regex(/^[hH][tT][tT][pP][sS]?:\/\//, {
    error: 'must be an absolute http or https URL, such as https://api.example.com/data',
    abort: true,
  })
  .refine((text) => parseUrl(text) !== undefined, 'must be a URL that can be read')
  .describe('What to call.')

const queryValue = z
  .union([z.string(), z.number(), z.boolean()], 'must be a string, a number or a boolean')
  .refine((value) => String(value).length <= MAX_PARAM_VALUE_CHARS, {
    error: `must have at most ${MAX_PARAM_VALUE_CHARS} characters`,
  })

const queryParams = z
  .record(z.string(), queryValue, 'must be an object of parameter name to value')
  .refine((given) => Object.keys(given).length <= MAX_PARAMS, {
    error: `may have at most ${MAX_PARAMS} members`,
  })
  .refine((given) => Object.keys(given).every(({ length }) => length <= MAX_PARAM_NAME_CHARS), {
    error: `names may have at most ${MAX_PARAM_NAME_CHARS} characters`,
  })

const jsonBody = z
  .unknown()
  .refine((value) => Buffer.byteLength(JSON.stringify(value) ?? '') <= MAX_BODY_BYTES, {
    error: `may have at most ${MAX_BODY_BYTES} bytes as JSON`,
  })

const byQuery = {
  url,
  queryParams: queryParams.optional().describe('Sent as the query.'),
  body: z.undefined('goes with POST, PUT and PATCH; use queryParams').optional(),
}
const byBody = {
  url,
  bodyType: z.enum(bodyTypes, `must be ${bodyTypes.join(', ')}`).optional(),
  body: jsonBody.optional().describe('Sent as JSON unless bodyType says otherwise; {} if absent.'),
  queryParams: queryParams.optional().describe('Sent as the query beside the body.'),
}

/** The body of `POST /discovery/validate`. */
const validateBody = z
  .discriminatedUnion(
    'method',
    [
      z.object({ ...byQuery, method: z.literal(['GET', 'HEAD', 'DELETE']) }),
      z.object({ ...byBody, method: z.literal(['POST', 'PUT', 'PATCH']) }),
      z.object({
        url,
        method: z.literal('MCP'),
        toolName: z
          .string()
          .regex(TOOL_NAME, 'must be 1 to 128 visible ASCII characters')
          .optional()
          .describe('Without it the tools of the server are listed.'),
        arguments: jsonBody
          .refine((value) => value === undefined || isObject(value), 'must be an object')
          .optional()
          .describe('Arguments of the call; {} if absent.'),
      }),
    ],
    {
      error: ({ input }) =>
        isObject(input)
          ? `must be one of ${callMethods.join(', ')}`
          : 'must be a JSON object with url and method',
    },
  )
  .meta({ id: 'ValidateRequest' })

const validateOperation: Operation = {
  id: 'validateEndpoint',
  tag: 'Discovery',
  summary: 'Probe any endpoint, and draft a listing from its live 402',
  description:
    'The endpoint is called once, without payment, through a guard that reaches public addresses only. PUT, PATCH and DELETE are never called. With method MCP the server is greeted, its tools are listed, and the tool is called as far as its 402.',
  body: validateBody,
  answers: { 200: { description: 'The verdict.', schema: validation } },
  codes: [httpCodes.rate_limited],
  examples: {
    blocked: {
      summary: 'An address that may not be called',
      body: { url: 'http://169.254.169.254/latest', method: 'GET' },
      status: 200,
    },
    malformed: {
      summary: 'Not a URL',
      body: { url: 'api.example.com', method: 'GET' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'url must be an absolute http or https URL, such as https://api.example.com/data.',
      },
    },
  },
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
