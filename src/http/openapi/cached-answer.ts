import type { z } from 'zod'
import type { Answer } from './operation.js'

/** What a read that may be kept for a minute answers: the body, or 304 to who has it. */
export function cached(description: string, schema: z.ZodType): Record<number, Answer> {
  const headers = { ETag: 'For If-None-Match.', 'Cache-Control': 'How long it may be kept.' }
  return {
    200: { description, schema, headers },
    304: { description: 'The caller has it: If-None-Match named its tag.', headers },
  }
}
