import type { RoutePrice } from '@arcus/merchant'
import { formatNative, formatUnits } from '@arcus/protocol/x402/amounts'
import type { Stablecoin } from '@arcus/protocol/x402/currencies'
import type { FastifyInstance, RouteHandlerMethod } from 'fastify'

/** Every hosted path begins with this. */
export const HOSTED_PREFIX = '/hosted/'

/** Reads the fees of the newest block; `undefined` where no node has one. */
export type ReadFees = () => Promise<{ baseFeePerGas: bigint; blockTime: number } | undefined>

/** A hosted endpoint, as it is sold and listed. */
interface HostedEndpoint {
  method: 'GET' | 'POST'
  path: string
  title: string
  tags: string[]
  price: Omit<RoutePrice, 'price'> & { description: string; pricing: 'fixed' | 'metered' }
  /** Atomic units of the token in which it is sold. */
  amount: bigint
  example: { queryParams: Record<string, unknown> } | { body: Record<string, unknown> }
  inputSchema: Record<string, unknown>
  handle(readFees: ReadFees): RouteHandlerMethod
}

/** Characters that one step of the price pays for. */
const STEP_CHARS = 5_000
/** Steps up to the ceiling of the price. */
const MAX_STEPS = 4
const STEP_ATOMIC = 5_000
const MAX_SENTENCES = 20
/** Gas of a settlement that is alone in its transaction. */
const SETTLE_GAS = 113_000n

interface SummaryBody {
  text: string
  sentences?: number
}

const summaryEndpoint: HostedEndpoint = {
  method: 'POST',
  path: `${HOSTED_PREFIX}summary`,
  title: 'Summary of a text',
  tags: ['text', 'summary'],
  amount: 20_000n,
  price: {
    pricing: 'metered',
    description: `Picks the most important sentences of a text. Half a cent of its currency for each ${STEP_CHARS} characters begun.`,
    mimeType: 'application/json',
    maxTimeoutSeconds: 60,
  },
  example: {
    body: {
      text: 'Rain fell all night. By morning the rain had filled the harbour. A boat sank. Nobody was hurt by the rain.',
      sentences: 2,
    },
  },
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string', minLength: 1, maxLength: STEP_CHARS * MAX_STEPS },
      sentences: { type: 'integer', minimum: 1, maximum: MAX_SENTENCES, default: 3 },
    },
    required: ['text'],
    additionalProperties: false,
  },
  handle: () => async (request) => {
    const { text, sentences = 3 } = request.body as SummaryBody
    const steps = Math.max(1, Math.ceil([...text].length / STEP_CHARS))
    request.payment?.charge(String(steps * STEP_ATOMIC))
    return summarize(text, sentences)
  },
}

const feesEndpoint: HostedEndpoint = {
  method: 'GET',
  path: `${HOSTED_PREFIX}fees`,
  title: 'Cost of a settlement on Arc now',
  tags: ['arc', 'gas'],
  amount: 5_000n,
  price: {
    pricing: 'fixed',
    description: 'Base fee of the newest block, and the gas cost of one settlement in dollars.',
    mimeType: 'application/json',
    maxTimeoutSeconds: 60,
  },
  example: { queryParams: {} },
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  handle: (readFees) => async (_, reply) => {
    const fees = await readFees().catch(() => undefined)
    if (fees === undefined) {
      const message = 'No block could be read; nothing was charged.'
      return reply.code(503).send({ error: 'unavailable', message })
    }
    return {
      baseFeeGwei: formatUnits(fees.baseFeePerGas, 9),
      settlementUsd: formatNative(fees.baseFeePerGas * SETTLE_GAS),
      blockTime: fees.blockTime,
    }
  },
}

export const hostedEndpoints: readonly HostedEndpoint[] = [summaryEndpoint, feesEndpoint]

/** Mounts the hosted endpoints. The plugin that sells them must be registered in this scope before. */
export function mountEndpoints(
  app: FastifyInstance,
  readFees: ReadFees,
  { address, name, version }: Stablecoin,
): void {
  for (const endpoint of hostedEndpoints) {
    const { method, path, amount, inputSchema, handle } = endpoint
    const asked = { amount: amount.toString(), asset: address, extra: { name, version } }
    const price = { ...endpoint.price, price: asked }
    const schema = method === 'GET' ? { querystring: inputSchema } : { body: inputSchema }
    app.route({
      method,
      url: path,
      config: { x402: price, cors: openToBrowsers },
      exposeHeadRoute: false,
      schema,
      handler: handle(readFees),
    })
    app.options(path, { config: { cors: openToBrowsers } }, (_, reply) => reply.callNotFound())
  }
}

const PREFLIGHT_MAX_AGE_SECONDS = 86_400
const openToBrowsers = {
  origin: '*',
  methods: ['GET', 'POST'],
  allowedHeaders: [
    'content-type',
    'payment-signature',
    'x-payment',
    'access-control-expose-headers',
  ],
  exposedHeaders: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'Retry-After'],
  maxAge: PREFLIGHT_MAX_AGE_SECONDS,
}

interface Summary {
  /** The chosen sentences in the order of the text. */
  summary: string
  sentences: number
  words: number
}

/** Words that carry no meaning of their own. */
const common = new Set(
  'a about after all also an and are as at be because been but by can could did do for from had has have he her his if in into is it its more no not of on one or other our out she so some than that the their them then there they this to up was we were what when which who will with would you your'.split(
    ' ',
  ),
)

/**
 * Picks the sentences that represent the text best, by Luhn's method: the number of times that their meaningful words
 * occur in the text, times the share of such words. So the length of a sentence alone gives no advantage.
 */
export function summarize(text: string, maxSentences: number): Summary {
  const sentences = splitSentences(text)
  const words = sentences.map(wordsOf)
  const counts = new Map<string, number>()
  for (const word of words.flat()) counts.set(word, (counts.get(word) ?? 0) + 1)
  const scores = words.map((own) => {
    const meaningful = own.filter((word) => !common.has(word))
    const sum = meaningful.reduce((total, word) => total + (counts.get(word) ?? 0), 0)
    return own.length === 0 ? 0 : (sum * meaningful.length) / own.length
  })
  const chosen = scores
    .map((score, place) => ({ score, place }))
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, maxSentences)
    .map(({ place }) => place)
    .sort((a, b) => a - b)
  return {
    summary: chosen.map((place) => sentences[place]).join(' '),
    sentences: sentences.length,
    words: words.flat().length,
  }
}

/** Characters of the longest sentence. Whatever is longer is cut. */
const MAX_SENTENCE_CHARS = 1_000
/** An end of a sentence, with its closing brackets and quotes, before a blank; or one of a script without blanks. */
const sentenceEnd = /[.!?…]["'”’)\]]{0,3}\s|[。！？]|\n/g

/**
 * Splits a text into sentences in one pass: after a mark that ends one, unless a small letter follows ("e.g. this"), and at
 * line breaks. The boundaries of Unicode (`Intl.Segmenter`) take time by the square of some texts, and a buyer chooses the
 * text.
 */
export function splitSentences(text: string): string[] {
  const pieces: string[] = []
  let begin = 0
  for (const { 0: mark, index } of text.matchAll(sentenceEnd)) {
    const end = index + mark.length
    if (/^[.…]/.test(mark) && /^\p{Ll}/u.test(text.slice(end, end + 2))) continue
    pieces.push(text.slice(begin, end))
    begin = end
  }
  pieces.push(text.slice(begin))
  return pieces
    .map((piece) => piece.replace(/\s+/g, ' ').trim())
    .flatMap((piece) => cutLong(piece))
    .filter((piece) => piece !== '')
}

/** Cuts a sentence that is too long, at a blank where there is one. */
function cutLong(sentence: string): string[] {
  const parts: string[] = []
  for (let rest = sentence; rest.length > 0; ) {
    const blank = rest.lastIndexOf(' ', MAX_SENTENCE_CHARS)
    const isLong = rest.length > MAX_SENTENCE_CHARS
    const end = isLong && blank > 0 ? blank : Math.min(rest.length, MAX_SENTENCE_CHARS)
    parts.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return parts
}

function wordsOf(sentence: string): string[] {
  return sentence.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
