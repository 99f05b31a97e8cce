import { useEffect, useRef } from 'react'
import { useConfig, useConnection, useReconnect } from 'wagmi'

/** An extension that slept needs longer to wake than the first try allows it. */
const TRIES_MS = [700, 2_500]

/** Connects the last used wallet again when it was too slow at first. One that was disconnected stays so. */
export function useLateReconnect(): void {
  const config = useConfig()
  const { status } = useConnection()
  const { mutateAsync: reconnect } = useReconnect()
  const tries = useRef(0)

  useEffect(() => {
    const wait = TRIES_MS[tries.current]
    if (status !== 'disconnected' || wait === undefined) return
    const timer = setTimeout(async () => {
      tries.current += 1
      const last = await config.storage?.getItem('recentConnectorId')
      const connectors = config.connectors.filter(({ id }) => id === last)
      // Nobody is told of a wallet that stays silent: the button is there.
      if (connectors.length > 0) await reconnect({ connectors }).catch(() => undefined)
    }, wait)
    return () => clearTimeout(timer)
  }, [status, config, reconnect])
}
