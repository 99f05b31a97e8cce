/**
 * Characters that carry words nobody sees, or turn the direction of the text around them: what Unicode calls default
 * ignorable (zero width, direction marks, variation selectors, fillers, tags), interlinear annotation, noncharacters,
 * halves of characters, and the two printable signs that have no ink.
 */
const hidden =
  '[\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\p{Cs}\\ufff9-\\ufffb\\u2800\\u{1d159}]'

/** Letters of scripts in which a joiner between two of them is spelling: Persian, Urdu, and the scripts of India and around. */
const joining = `[${'Arab Syrc Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Mymr Khmr Tibt'
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')}\\u064b-\\u065f\\u0670]`

/** What of the above is part of what is seen where it stands. */
const seen = [
  `(?<=${joining})[\\u200c\\u200d](?=${joining})`,
  // A sequence of emoji, each perhaps with its own selector.
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}]\\ufe0f?)\\u200d(?=\\p{Extended_Pictographic})',
  '(?<=\\p{Emoji})(?<![0-9#*])[\\ufe0e\\ufe0f]',
  // Keycaps.
  '(?<=[0-9#*])\\ufe0f(?=\\u20e3)',
].join('|')

const first = new RegExp(`(?!${seen})${hidden}`, 'u')
const all = new RegExp(`(?!${seen})${hidden}`, 'gu')
/** Nearly every text: nothing in it need be looked at closer. */
const plain = /^[\t\n\r -~]*$/

/** The first hidden character of a text; `undefined` when everything in it is seen. */
export function findHidden(text: string): string | undefined {
  return plain.test(text) ? undefined : first.exec(text)?.[0]
}

/** The text without them. Doing it twice changes nothing more. */
export function stripHidden(text: string): string {
  return plain.test(text) ? text : text.replace(all, '')
}
