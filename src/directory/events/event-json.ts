import { createHash } from 'node:crypto'
import type { StoredEvent } from '../store/events.js'

/** Returns an event as it is sent, by pull and by webhook. Its id comes from what happened, so that it outlives a restore. */
export function toEventJson({ id, key, type, at, data }: StoredEvent) {
  return {
    id: `evt_${createHash('sha256').update(key).digest('base64url').slice(0, 24)}`,
    cursor: id,
    type,
    timestamp: new Date(at).toISOString(),
    data: JSON.parse(data) as Record<string, unknown>,
  }
}
