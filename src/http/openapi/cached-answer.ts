import type { z } from 'zod'
import type { Answer } from './operation.js'

/** What a read that may be kept for a minute answers: a body of this schema, or text of this type, or 304 to who has it. */
export function cached(description: string, body: z.ZodType | string): Record<number, Answer> {
  const content = typeof body === 'string' ? { type: body } : { schema: body }
  const headers = { ETag: 'For If-None-Match.', 'Cache-Control': 'How long it may be kept.' }
  return {
    200: { description, ...content, headers },
    304: { description: 'The caller has it: If-None-Match named its tag.', headers },
  }
}
