import { RequestFault } from '../../http/request-fault.js'
import type { EndpointMethod, ListedEndpoint } from '../../store/listings.js'
import { isRecord } from './clean-json.js'

const MAX_URL_CHARS = 2_048
const MAX_PARAMS = 32
const MAX_PARAM_NAME_CHARS = 64
const MAX_PARAM_VALUE_CHARS = 512
const MAX_BODY_BYTES = 16 * 1024

/** An endpoint to be called, as a stranger describes it. */
export type ValidateRequest = Pick<ListedEndpoint, 'url' | 'method' | 'example'>

/** Parses the body of a validate request. Throws a 400 that names the parameter and its limit. */
export function parseValidateBody(body: unknown): ValidateRequest {
  if (!isRecord(body)) throw fault('The body must be a JSON object with url and method.')
  const url = parseUrl(body.url)
  const method = parseMethod(body.method)
  const { queryParams, body: example } = body
  if (method === 'GET') {
    if (example !== undefined) throw fault('body goes with method POST; use queryParams for GET.')
    return { url, method, example: { queryParams: parseQueryParams(queryParams ?? {}) } }
  }
  if (queryParams !== undefined) {
    throw fault('queryParams goes with method GET; use body for POST.')
  }
  return { url, method, example: { body: parseExample(example ?? {}) } }
}

function parseUrl(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw fault('url must be a string.')
  if (value.length > MAX_URL_CHARS)
    throw fault(`url must have at most ${MAX_URL_CHARS} characters.`)
  if (!URL.canParse(value) || !/^https?:\/\//i.test(value)) {
    throw fault('url must be an absolute http or https URL, such as https://api.example.com/data.')
  }
  return value
}

function parseMethod(value: unknown): EndpointMethod {
  if (value === 'GET' || value === 'POST') return value
  throw fault('method must be GET or POST.')
}

function parseQueryParams(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw fault('queryParams must be an object of parameter name to value.')
  const entries = Object.entries(value)
  if (entries.length > MAX_PARAMS)
    throw fault(`queryParams may have at most ${MAX_PARAMS} members.`)
  for (const [name, param] of entries) {
    if (name.length > MAX_PARAM_NAME_CHARS) {
      throw fault(`queryParams: names may have at most ${MAX_PARAM_NAME_CHARS} characters.`)
    }
    if (!['string', 'number', 'boolean'].includes(typeof param)) {
      throw fault('queryParams: values must be strings, numbers or booleans.')
    }
    if (String(param).length > MAX_PARAM_VALUE_CHARS) {
      throw fault(`queryParams: values may have at most ${MAX_PARAM_VALUE_CHARS} characters.`)
    }
  }
  return value
}

function parseExample(value: unknown): unknown {
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_BODY_BYTES) {
    throw fault(`body may have at most ${MAX_BODY_BYTES} bytes as JSON.`)
  }
  return value
}

function fault(message: string): RequestFault {
  return new RequestFault({ statusCode: 400, code: 'invalid_request', message })
}
