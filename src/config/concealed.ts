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
