import { z } from 'zod'
import { reasons } from '../../x402/reasons.js'
import { type DescribedCode, httpCodes } from '../http-codes.js'
import type { RouteFamily, RouteLimit } from '../route-config.js'
import type { WrittenResponse } from './document.js'
import type { JsonSchemas } from './json-schemas.js'
import type { Operation } from './operation.js'

/** What a route says of itself besides its operation. */
export interface RouteFacts {
  family: RouteFamily
  limit: RouteLimit
  hasBody: boolean
}

const STOPPING = 'The service is stopping and did nothing with the request.'

/** Every answer of an operation by status: its own, its refusals, and what any route of its family may be told. */
export function writeResponses(
  operation: Operation,
  route: RouteFacts,
  schemas: JsonSchemas,
): Record<string, WrittenResponse> {
  const responses = new Map<number, WrittenResponse>()
  for (const [status, answer] of Object.entries(operation.answers)) {
    const { description, schema, type = 'application/json', headers = {} } = answer
    const examples = examplesOf(operation, Number(status))
    const body =
      schema === undefined ? { schema: { type: 'string' } } : { schema: schemas.write(schema) }
    const hasBody = schema !== undefined || answer.type !== undefined
    responses.set(Number(status), {
      description,
      headers: writeHeaders(headers),
      ...(hasBody ? { content: { [type]: { ...body, ...examples } } } : {}),
    })
  }
  for (const [status, codes] of groupByStatus(codesOf(operation, route))) {
    const examples = examplesOf(operation, status)
    const own = operation.answers[status]
    const refused = errorSchema(route.family, codes)
    const schema = own?.schema === undefined ? refused : z.union([own.schema, refused])
    const words = describeCodes(codes)
    responses.set(status, {
      description: own === undefined ? words : `${own.description}\n\n${words}`,
      headers: writeHeaders({ ...own?.headers, ...(status === 429 ? RETRY_AFTER : {}) }),
      content: { 'application/json': { schema: schemas.write(schema), ...examples } },
    })
  }
  return Object.fromEntries(responses)
}

const RETRY_AFTER = { 'Retry-After': 'Seconds until it is worth trying again.' }

/** The codes as a list in Markdown, each with its meaning. */
export function describeCodes(codes: readonly DescribedCode[]): string {
  return codes.map(({ code, meaning }) => `- \`${code}\`: ${meaning}`).join('\n')
}

function codesOf({ codes = [] }: Operation, { family, limit, hasBody }: RouteFacts) {
  if (family === 'verify' || family === 'settle') return [...codes, stopping(family)]
  const { invalidRequest, bodyTooLarge, rateLimited, internalError, unavailable } = httpCodes
  const common: DescribedCode[] = [invalidRequest, internalError, unavailable]
  if (limit === 'counted') common.push(rateLimited)
  if (hasBody) common.push(bodyTooLarge)
  const own = new Set(codes.map(({ code }) => code))
  return [...codes, ...common.filter(({ code }) => !own.has(code))]
}

function stopping(family: 'verify' | 'settle'): DescribedCode {
  const { code } = reasons[family === 'verify' ? 'unexpectedVerifyError' : 'unexpectedSettleError']
  return { code, status: 503, meaning: STOPPING }
}

function groupByStatus(codes: readonly DescribedCode[]): [number, DescribedCode[]][] {
  const byStatus = new Map<number, DescribedCode[]>()
  for (const code of codes) byStatus.set(code.status, [...(byStatus.get(code.status) ?? []), code])
  return [...byStatus].sort(([a], [b]) => a - b)
}

/** The shape of an error of each family, with the codes that come with this status. */
function errorSchema(family: RouteFamily, codes: readonly DescribedCode[]): z.ZodType {
  const code = z.enum(codes.map((it) => it.code) as [string, ...string[]])
  const message = z.string().describe('One sentence.')
  const payer = z.string().optional().describe('Where the body names one.')
  if (family === 'verify') {
    const isValid = z.literal(false)
    return z.object({ isValid, invalidReason: code, invalidMessage: message, payer })
  }
  if (family === 'settle') {
    return z.object({
      success: z.literal(false),
      errorReason: code,
      errorMessage: message,
      transaction: z.string(),
      network: z.string(),
      payer,
    })
  }
  const details = z.record(z.string(), z.unknown()).optional()
  return z.object({ error: code, message, details })
}

function examplesOf({ examples = {} }: Operation, status: number) {
  const answered = Object.entries(examples).filter(
    ([, example]) => example.status === status && example.answer !== undefined,
  )
  if (answered.length === 0) return {}
  const written = answered.map(([name, { summary, answer }]) => [name, { summary, value: answer }])
  return { examples: Object.fromEntries(written) }
}

function writeHeaders(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  )
}
