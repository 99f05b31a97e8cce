import { useEffect, useRef, useState } from 'react'

type Connection = 'connecting' | 'live' | 'lost'

/** The service sends an event every 15 seconds. */
const SILENT_MS = 20_000
/** A browser gives up after an error answer, and then this page asks again. */
const AGAIN_MS = 5_000

interface StreamReader {
  /** Receives the data of each event. */
  onNews(data: string): void
  /** Called when news may have been missed. */
  onGap(): void
}

/** Follows one kind of event of a stream of the service while the component is shown. */
export function useStream(path: string, event: string, reader: StreamReader): Connection {
  const [connection, setConnection] = useState<Connection>('connecting')
  const latest = useRef(reader)
  latest.current = reader

  useEffect(() => {
    let stream: EventSource
    let timer: ReturnType<typeof setTimeout> | undefined
    let wasLost = false
    const lose = () => {
      wasLost = true
      setConnection('lost')
    }
    /** A connection that says nothing any more looks open to the browser for ever. */
    const listen = () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        lose()
        stream.close()
        follow()
      }, SILENT_MS)
    }
    const follow = () => {
      stream = new EventSource(path)
      listen()
      stream.addEventListener('open', () => {
        listen()
        setConnection('live')
        // Nothing was announced while the connection was lost.
        if (wasLost) latest.current.onGap()
        wasLost = false
      })
      stream.addEventListener('beat', listen)
      stream.addEventListener(event, ({ data }) => {
        listen()
        latest.current.onNews(data)
      })
      stream.addEventListener('error', () => {
        lose()
        if (stream.readyState !== EventSource.CLOSED) return
        // A browser gives up after an error answer. Reading once shows whether the session has ended.
        latest.current.onGap()
        clearTimeout(timer)
        timer = setTimeout(follow, AGAIN_MS)
      })
    }
    follow()
    return () => {
      clearTimeout(timer)
      stream.close()
    }
  }, [path, event])

  return connection
}
