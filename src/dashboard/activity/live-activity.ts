import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

const AGAIN_MS = 5_000

export type Liveness = 'connecting' | 'live' | 'lost'

/** Follows a merchant's activity: whatever is shown of it is read anew when the service says that there is more. */
export function useLiveActivity(merchantId: string): Liveness {
  const client = useQueryClient()
  const [liveness, setLiveness] = useState<Liveness>('connecting')

  useEffect(() => {
    const path = `/api/merchants/${encodeURIComponent(merchantId)}/activity/stream`
    let stream: EventSource
    let timer: ReturnType<typeof setTimeout> | undefined
    const readAnew = () => void client.invalidateQueries({ queryKey: ['activity', merchantId] })
    let wasLost = false
    const follow = () => {
      stream = new EventSource(path)
      stream.addEventListener('open', () => {
        setLiveness('live')
        // What happened meanwhile was told to nobody.
        if (wasLost) readAnew()
        wasLost = false
      })
      stream.addEventListener('activity', readAnew)
      stream.addEventListener('error', () => {
        wasLost = true
        setLiveness('lost')
        if (stream.readyState !== EventSource.CLOSED) return
        // Browsers give up when the answer is an error; reading once tells whether the session has ended.
        readAnew()
        timer = setTimeout(follow, AGAIN_MS)
      })
    }
    follow()
    return () => {
      clearTimeout(timer)
      stream.close()
    }
  }, [client, merchantId])

  return liveness
}
