import { z } from 'zod'
import { countChars, findUnwelcome, hasVisible, normaliseText } from './listing-text.js'

/** A text in the form it is kept in, within its limits; refused when it holds what cannot be seen or turns text. */
export function text(rule: {
  kind: 'one-line' | 'multi-line'
  minChars: number
  maxChars: number
}) {
  const { minChars: minLength, maxChars: maxLength } = rule
  return z
    .string()
    .transform((raw, context) => {
      const kept = normaliseText(raw)
      const message = problemOf(kept, rule) ?? unwelcomeIn(raw, rule.kind)
      if (message !== undefined) context.addIssue({ code: 'custom', message })
      return kept
    })
    .meta({ wire: { type: 'string', minLength, maxLength } })
}

function problemOf(
  kept: string,
  { minChars, maxChars }: { minChars: number; maxChars: number },
): string | undefined {
  const chars = countChars(kept)
  const range = minChars === 0 ? `at most ${maxChars}` : `${minChars} to ${maxChars}`
  if (chars < minChars || chars > maxChars) return `must be ${range} characters; it has ${chars}`
  if (minChars > 0 && !hasVisible(kept)) return 'must have something to see'
  return undefined
}

/** Of the text as sent: trimming takes away a byte order mark and line separators, which were sent all the same. */
function unwelcomeIn(raw: string, kind: 'one-line' | 'multi-line'): string | undefined {
  const character = findUnwelcome(raw, kind)
  return character === undefined ? undefined : `must not contain the character ${character}`
}
