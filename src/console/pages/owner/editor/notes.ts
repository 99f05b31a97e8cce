import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { usdToAtomic } from '../../../format/typed-price.js'
import { sameAddress, shortHex } from '../../../format/untrusted-text.js'
import { type Level, warningLevel, warningText } from '../../../format/verdicts.js'
import type { EndpointValues, Found } from './form.js'

interface NoteText {
  level: Level
  text: string
}

/** Returns what an owner should know of an API before they sign: how it differs from its 402, and what the check found. */
export function notesOf(
  values: EndpointValues,
  found: Found | null,
  payTo: string,
): readonly NoteText[] {
  if (found === null) return []
  const notes: NoteText[] = []
  if (differsInPrice(values, found)) {
    const asks = exactAmount(atomicToUsd(found.price), found.symbol)
    notes.push({
      level: 'bad',
      text: `Your API asks for ${asks}. Buyers pay what it asks for, not what is listed.`,
    })
  }
  if (payTo.trim() !== '' && !sameAddress(payTo.trim(), found.payTo)) {
    const [asked, listed] = [shortHex(found.payTo), shortHex(payTo.trim())]
    notes.push({
      level: 'bad',
      text: `Your API asks to be paid at ${asked}, and the payout address below is ${listed}. It is refused unless both are the same.`,
    })
  }
  for (const code of found.warnings) {
    // The first is said above. The second concerns the listing as it was, and the owner may have written a schema since.
    if (code === 'price_drift') continue
    if (code === 'schema_missing' && values.inputSchema.trim() !== '') continue
    notes.push({ level: warningLevel(code), text: warningText(code) })
  }
  return notes
}

/** Returns whether the price in the form is another than that of the 402. */
export function differsInPrice({ price, asset }: EndpointValues, found: Found | null): boolean {
  if (found === null) return false
  const typed = usdToAtomic(price)
  const isOtherToken = asset !== '' && !sameAddress(asset, found.asset)
  return typed !== undefined && (typed !== found.price || isOtherToken)
}
