import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

export function useIsOnline(): boolean {
  return useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  )
}

export function OfflineBanner() {
  const isOnline = useIsOnline()
  return (
    <div role="status">
      {!isOnline && (
        <p className="bg-warn-soft px-4 py-2 text-center text-sm text-warn">
          You are offline. What you see may be old; drafts stay on this device.
        </p>
      )}
    </div>
  )
}
