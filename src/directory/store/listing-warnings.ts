import { getAddress } from 'viem'
import type { Merchant } from './listings.js'
import { mixesAlphabets } from './name-rules.js'
import { isUnclaimed, payToProofOf, speaksForPayTo } from './ownership.js'

/** A reason to be careful with a listing, for everybody; `path` is the field that it is about. */
export interface ListingWarning {
  path: string
  code: 'pay_to_unproven' | 'confusable_name'
  message: string
}

/** The warnings in one or two words, for titles. */
const short: Record<ListingWarning['code'], string> = {
  pay_to_unproven: 'unproven',
  confusable_name: 'look-alike name',
}

/** Returns the warnings that every public answer about a merchant carries; mostly none. */
export function publicWarnings(merchant: Merchant): ListingWarning[] {
  const name = nameWarning(merchant)
  return [
    ...(name === undefined ? [] : [name]),
    ...(speaksForPayTo(merchant) ? [] : [unprovenWarning(merchant)]),
  ]
}

function unprovenWarning({ payTo }: Merchant): ListingWarning {
  const message = `Nobody has proven that this listing is by the owner of the address that is paid, ${getAddress(payTo)}: its name and texts may be a stranger's.`
  return { path: 'payTo', code: 'pay_to_unproven', message }
}

function nameWarning(merchant: Merchant): ListingWarning | undefined {
  const { id, name, nameLike } = merchant
  const code = 'confusable_name'
  if (nameLike !== null) {
    const { merchantId, path } = nameLike
    const message =
      merchantId === id
        ? 'It shows a word or a sign that only merchants run by the operator may show.'
        : `It looks like the name of the merchant ${merchantId}, which has another owner.`
    return { path, code, message }
  }
  if (isUnclaimed(merchant) || !mixesAlphabets(name)) return undefined
  const message = 'The name mixes letters of several alphabets in one word, as imitations do.'
  return { path: 'name', code, message }
}

/** Returns the members of every public answer that show who stands behind a listing. */
export function standingOf(merchant: Merchant) {
  const payToProof = payToProofOf(merchant)
  return {
    claimed: merchant.owner !== null && payToProof !== null,
    payToProof,
    warnings: publicWarnings(merchant),
  }
}

/** Returns the name of a merchant with its warnings in a few words, for places that show nothing else. */
export function markedName(merchant: Merchant): string {
  const marks = shortWarnings(merchant)
  return marks.length === 0 ? merchant.name : `${merchant.name} (${marks.join(', ')})`
}

export function shortWarnings(merchant: Merchant): string[] {
  return publicWarnings(merchant).map(({ code }) => short[code])
}
