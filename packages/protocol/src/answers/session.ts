import { z } from 'zod'
import { type AnswerOf, address, seconds } from './fields.js'

export const sessionAnswer = z
  .object({ address, expiresAt: seconds })
  .meta({ id: 'Session', description: 'The wallet that is signed in, and until when.' })

export type SessionAnswer = AnswerOf<typeof sessionAnswer>

/** The members that a sign-in message (ERC-4361) must have. */
export const nonceAnswer = z.object({
  nonce: z.string(),
  domain: z.string(),
  uri: z.string(),
  chainId: z.int(),
  version: z.literal('1'),
  statement: z.string(),
  expiresAt: seconds,
})

export type NonceAnswer = AnswerOf<typeof nonceAnswer>

export const signInBody = z.strictObject({
  message: z.string().describe('ERC-4361, with the nonce of `GET /api/session/nonce`.'),
  signature: z
    .string()
    .describe('The signature of the message by EIP-191, or of a contract wallet by ERC-1271.'),
})
