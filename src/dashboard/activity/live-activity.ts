import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

export type Liveness = 'connecting' | 'live' | 'lost'

/** Follows a merchant's activity: whatever is shown of it is read anew when the service says that there is more. */
export function useLiveActivity(merchantId: string): Liveness {
  const client = useQueryClient()
  const [liveness, setLiveness] = useState<Liveness>('connecting')

  useEffect(() => {
    const stream = new EventSource(
      `/api/merchants/${encodeURIComponent(merchantId)}/activity/stream`,
    )
    const readAnew = () => void client.invalidateQueries({ queryKey: ['activity', merchantId] })
    let wasLost = false
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
    })
    return () => stream.close()
  }, [client, merchantId])

  return liveness
}
