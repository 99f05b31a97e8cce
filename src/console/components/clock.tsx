import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'

const TICK_MS = 5_000

const Now = createContext(0)

/** Gives its children one clock, which ticks every five seconds. */
export function Clock({ children }: { children: ReactNode }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return <Now value={now}>{children}</Now>
}

/** Returns the time in Unix milliseconds, at most five seconds late. */
export function useNow(): number {
  const ticked = useContext(Now)
  const [shownAt] = useState(() => Date.now())
  return Math.max(ticked, shownAt)
}
