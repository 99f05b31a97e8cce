import { inspect } from 'node:util'

const CONCEALED = '[concealed]'

/**
 * Makes a frozen list whose entries can be used but not printed: JSON, `util.inspect` and string conversion give
 * `[concealed]` instead, so that no dump of the settings contains a key.
 */
export function concealed<Entry>(entries: readonly Entry[]): readonly Entry[] {
  const substitute = { value: () => CONCEALED }
  const list = [...entries]
  Object.defineProperties(list, {
    toJSON: substitute,
    toString: substitute,
    [inspect.custom]: substitute,
  })
  return Object.freeze(list)
}

/**
 * Makes a frozen object whose `hidden` members can be read but not printed: JSON, `util.inspect` and copies by
 * spreading leave them out.
 */
export function concealing<Shown extends object, Hidden extends object>(
  shown: Shown,
  hidden: Hidden,
): Readonly<Shown & Hidden> {
  const whole = { ...shown }
  for (const [name, value] of Object.entries(hidden)) Object.defineProperty(whole, name, { value })
  Object.defineProperty(whole, inspect.custom, { value: () => ({ ...shown }) })
  return Object.freeze(whole as Shown & Hidden)
}
