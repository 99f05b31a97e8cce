/** Every limit on what owners write, as `GET /api/signing` publishes them. Characters are Unicode code points. */
export const listingLimits = {
  /** Lower-case letters, digits and inner hyphens. */
  merchantId: { minChars: 3, maxChars: 40, pattern: '^[a-z0-9](?:[a-z0-9-]{1,38}[a-z0-9])$' },
  name: { minChars: 1, maxChars: 60 },
  description: { maxChars: 1_000 },
  endpoints: { min: 1, max: 100 },
  url: { maxChars: 2_048 },
  title: { minChars: 1, maxChars: 100 },
  endpointDescription: { maxChars: 1_000 },
  tags: { max: 10, minChars: 1, maxChars: 32 },
  /** Fifteen digits are a billion dollars, and as many as a JSON number holds exactly. */
  price: { min: '1', max: '999999999999999' },
  queryParams: { max: 50, nameMaxChars: 64, valuesPerName: 20 },
  /** Of the example, as UTF-8 of its JSON, and how deep arrays and objects nest. */
  example: { maxBytes: 8_192, maxDepth: 10 },
  inputSchema: { maxBytes: 16_384, maxDepth: 24 },
  outputType: { maxChars: 40 },
  outputExample: { maxBytes: 8_192, maxDepth: 10 },
  agentId: { maxDigits: 78 },
  /** Of a whole request, message and signature included. */
  request: { maxBytes: 524_288, maxDepth: 32 },
  /** A wrapped signature of a wallet that is not deployed yet carries the wallet's making. */
  signature: { maxBytes: 8_192 },
  /** Seconds a clock may be ahead of ours, and a deadline ahead of that. */
  issuedAt: { skewSeconds: 60 },
  deadline: { maxAheadSeconds: 600 },
  /** How long an offer of ownership stands. */
  offer: { openSeconds: 7 * 86_400 },
  history: { defaultEntries: 20, maxEntries: 100 },
} as const
