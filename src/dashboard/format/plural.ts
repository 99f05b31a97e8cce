const rules = new Intl.PluralRules('en')

/** The forms of a text by the plural categories of its language. English has `one` and `other`. */
type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }

/** Chooses the form of a text that fits a count. */
export function plural(count: number, forms: Forms): string {
  return forms[rules.select(count)] ?? forms.other
}
