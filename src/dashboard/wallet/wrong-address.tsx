import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { settingsQuery } from '../api/queries.js'
import { Notice } from '../components/notice.js'

/** Where wallets may sign, when the page was opened somewhere else: the directory takes signatures for one origin only. */
export function useOtherOrigin(): string | undefined {
  const { data } = useQuery(settingsQuery)
  if (data === undefined || !URL.canParse(data.directoryUrl)) return undefined
  const { origin } = new URL(data.directoryUrl)
  return origin === location.origin ? undefined : origin
}

/** Says so before anything is typed, because drafts stay with the address they were written at. */
export function WrongAddress() {
  const origin = useOtherOrigin()
  const [path] = useLocation()
  if (origin === undefined) return null
  return (
    <Notice
      tone="warn"
      title="Nothing can be signed at this address"
      action={
        <a
          href={origin + path + location.search}
          className="inline-flex h-8 items-center rounded-lg border border-line-strong bg-raised px-3 text-xs font-medium text-ink hover:bg-sunken"
        >
          Open it at {new URL(origin).host}
        </a>
      }
    >
      You opened {location.origin}, and this directory accepts signatures made for {origin} only, so
      that no other site can collect them.
    </Notice>
  )
}
