/** What became of a payment's bazaar extension. */
export type BazaarStatus =
  /** `success`: the catalog has it as it is; `processing`: it is being looked at. */
  { status: 'success' | 'processing' } | { status: 'rejected'; rejectedReason: string }

/** Longer ones would not fit beside other headers in what proxies take. */
const MAX_REASON_CHARS = 300

/** The value of the header `EXTENSION-RESPONSES`: base64 of JSON keyed by extension. For the merchant, not the buyer. */
export function encodeExtensionResponses(responses: { bazaar: BazaarStatus }): string {
  const { bazaar } = responses
  const told =
    bazaar.status === 'rejected'
      ? { ...bazaar, rejectedReason: toAscii(bazaar.rejectedReason) }
      : bazaar
  return Buffer.from(JSON.stringify({ bazaar: told })).toString('base64')
}

/** A merchant's client logs these words, and a stranger chose some of them. */
function toAscii(reason: string): string {
  return reason.slice(0, MAX_REASON_CHARS).replace(/[^\x20-\x7e]/g, '?')
}
