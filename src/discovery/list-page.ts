import type { JsonText } from '../store/published.js'

/** The answer of `GET /discovery/resources` around its items. */
export function listPage(
  items: readonly JsonText[],
  { limit, offset }: { limit: number; offset: number },
  total: number,
): JsonText {
  const pagination = JSON.stringify({ limit, offset, total })
  return `{"x402Version":2,"items":[${items.join(',')}],"pagination":${pagination}}`
}
