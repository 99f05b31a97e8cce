import { inspect } from 'node:util'

const CONCEALED = '[concealed]'

/**
 * A frozen list whose entries can be used but not printed: JSON, `util.inspect` and string conversion give a word
 * instead, so that no dump of settings can carry a key along.
 */
export function concealed<Entry>(entries: readonly Entry[]): readonly Entry[] {
  const word = { value: () => CONCEALED }
  const list = [...entries]
  Object.defineProperties(list, { toJSON: word, toString: word, [inspect.custom]: word })
  return Object.freeze(list)
}

/**
 * A frozen object whose `hidden` members can be read but not printed: JSON, `util.inspect` and copies by
 * spreading are without them.
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
