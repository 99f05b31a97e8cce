import { useQuery } from '@tanstack/react-query'
import { settingsQuery } from '../api/queries.js'

/** Returns the origin for which the directory takes signatures, if the page was opened at another one. */
export function useOtherOrigin(): string | undefined {
  const { data } = useQuery(settingsQuery)
  if (data === undefined || !URL.canParse(data.directoryUrl)) return undefined
  const { origin } = new URL(data.directoryUrl)
  return origin === location.origin ? undefined : origin
}
