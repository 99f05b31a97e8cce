import { shortCount } from './amounts.js'

const rules = new Intl.PluralRules('en')

/** The forms of a text by the plural categories of its language. English has `one` and `other`. */
type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }

/** Chooses the form of a text that fits a count. */
export function plural(count: number, forms: Forms): string {
  return forms[rules.select(count)] ?? forms.other
}

/** Chooses the form that fits a count, and puts the count in place of its `#`. */
export function counted(
  count: number,
  forms: Forms,
  write: (count: number) => string = shortCount,
): string {
  return plural(count, forms).replace('#', () => write(count))
}
