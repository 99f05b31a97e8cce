import { z } from 'zod'

/** What signing in takes. */
export const signInBody = z.strictObject({
  message: z.string().describe('ERC-4361, with the nonce of `GET /api/session/nonce`.'),
  signature: z.string().describe('Over it, by EIP-191; of a contract wallet by ERC-1271.'),
})
