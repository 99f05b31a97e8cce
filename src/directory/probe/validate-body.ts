import { z } from 'zod'
import { RequestFault } from '../../http/errors.js'
import type { ListedEndpoint } from '../../store/listings.js'
import { parseUrl } from '../../x402/parse-url.js'

const MAX_URL_CHARS = 2_048
const MAX_PARAMS = 32
const MAX_PARAM_NAME_CHARS = 64
const MAX_PARAM_VALUE_CHARS = 512
const MAX_BODY_BYTES = 16 * 1024

/** An endpoint to be called, as a stranger describes it. */
export type ValidateRequest = Pick<ListedEndpoint, 'url' | 'method' | 'example'>

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
  .union([z.string(), z.number(), z.boolean()], 'values must be strings, numbers or booleans')
  .refine((value) => String(value).length <= MAX_PARAM_VALUE_CHARS, {
    error: `values may have at most ${MAX_PARAM_VALUE_CHARS} characters`,
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

/** What `POST /discovery/validate` takes. */
export const validateBody = z
  .discriminatedUnion(
    'method',
    [
      z.object({
        url,
        method: z.literal('GET'),
        queryParams: queryParams.optional().describe('Sent as the query.'),
        body: z.undefined('goes with method POST; use queryParams for GET').optional(),
      }),
      z.object({
        url,
        method: z.literal('POST'),
        body: jsonBody.optional().describe('Sent as JSON; {} if absent.'),
        queryParams: z.undefined('goes with method GET; use body for POST').optional(),
      }),
    ],
    {
      error: ({ input }) =>
        isObject(input)
          ? 'must be GET or POST'
          : 'The body must be a JSON object with url and method',
    },
  )
  .meta({ id: 'ValidateRequest' })

/** Parses the body of a validate request. Throws a 400 that names the parameter and its limit. */
export function parseValidateBody(body: unknown): ValidateRequest {
  const parsed = validateBody.safeParse(body)
  if (!parsed.success) throw faultOf(parsed.error)
  const { url, method } = parsed.data
  return parsed.data.method === 'GET'
    ? { url, method, example: { queryParams: parsed.data.queryParams ?? {} } }
    : { url, method, example: { body: parsed.data.body ?? {} } }
}

function faultOf({ issues: [issue] }: z.ZodError): RequestFault {
  const [name] = issue?.path ?? []
  const sentence = [name, issue?.message].filter((part) => part !== undefined).join(' ')
  return new RequestFault({ statusCode: 400, code: 'invalid_request', message: `${sentence}.` })
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
