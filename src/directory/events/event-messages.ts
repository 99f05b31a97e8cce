import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { StoredEvent } from '../store/events.js'
import type { Hook } from '../store/hooks.js'

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

export type HookSecrets = ReturnType<typeof createHookSecrets>

/**
 * Creates the secrets of webhooks, each made of a stored seed and the key of the settings, so that the database alone has
 * none. Without a key the seed alone makes the secret.
 */
export function createHookSecrets(key: string | undefined) {
  const keyId = key === undefined ? '' : createHash('sha256').update(key).digest('hex').slice(0, 16)
  return {
    create: () => ({ seed: randomBytes(32).toString('hex'), keyId }),
    /** Returns the secret; `undefined` if it was made with another key than the present one. */
    of(hook: Pick<Hook, 'seed' | 'keyId'>): Buffer | undefined {
      // A hook that was made before there was a key goes on without one.
      if (hook.keyId !== '' && hook.keyId !== keyId) return undefined
      const used = hook.keyId === '' ? '' : (key ?? '')
      return createHmac('sha256', used).update(Buffer.from(hook.seed, 'hex')).digest()
    },
  }
}

/** Writes a secret as Standard Webhooks does. */
export function writeSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`
}

/** Signs a message as Standard Webhooks does: its id, the time of sending and its text. */
export function signMessage(
  secret: Buffer,
  message: { id: string; seconds: number; text: string },
): Record<string, string> {
  const { id, seconds, text } = message
  const digest = createHmac('sha256', secret).update(`${id}.${seconds}.${text}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${digest}`,
  }
}
