import { ListingError } from '../../listing-client/client.js'
import { verdictName } from '../format/verdicts.js'
import type { Problems } from './compose-listing.js'

/** What the service said against a save, laid beside the fields it is about. */
export function problemsOf(error: unknown): Problems {
  if (!(error instanceof ListingError)) return {}
  const { code, message, details } = error
  if (code === 'not_owner') return { id: 'This id belongs to somebody else: choose another.' }
  if (code === 'invalid_merchant_id') return { id: message }
  const { endpoints, issues } = (details ?? {}) as {
    endpoints?: { path: string; reason: string; message: string }[]
    issues?: { path: string; message: string }[]
  }
  if (code === 'endpoint_refused' && endpoints !== undefined) {
    return Object.fromEntries(
      endpoints.map(({ path, reason, message }) => [
        `${path}.url`,
        `${verdictName(reason)}. ${message}`,
      ]),
    )
  }
  if (code === 'invalid_listing' && issues !== undefined) {
    return Object.fromEntries(issues.map(({ path, message }) => [path, `It ${message}.`]))
  }
  return {}
}
