/** `x402` is the current TypeScript reference, `x402-spec` section 9 of the protocol, `arcus` our choice. */
export interface Reason {
  code: string
  status: 200 | 400 | 413 | 429 | 500
  source: 'x402' | 'x402-spec' | 'arcus'
  /** When the code is given, in one sentence; rendered into the documentation. */
  meaning: string
}
