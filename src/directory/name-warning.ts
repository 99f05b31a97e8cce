import type { ListingReader, Merchant } from '../store/listings.js'
import { merchantIdKind } from './merchant-id.js'

/** Letters of other scripts that pass for Latin ones. */
const lookalikes: Readonly<Record<string, string>> = {
  ...{ а: 'a', в: 'b', с: 'c', е: 'e', һ: 'h', і: 'i', ј: 'j', к: 'k', ӏ: 'l', м: 'm' },
  ...{ о: 'o', р: 'p', ԛ: 'q', ѕ: 's', т: 't', ѵ: 'v', ԝ: 'w', х: 'x', у: 'y', ԁ: 'd' },
  ...{ α: 'a', β: 'b', ε: 'e', ι: 'i', κ: 'k', ν: 'v', ο: 'o', ρ: 'p', τ: 't', υ: 'u', χ: 'x' },
}

const latin = /\p{Script=Latin}/u
const passing = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u

/**
 * Why a name may be taken for another: scripts mixed in one word, or the look of a merchant of somebody else. A reason
 * to look twice, not to refuse.
 */
export async function findNameWarning(
  { id, name, owner }: Pick<Merchant, 'id' | 'name' | 'owner'>,
  listings: Pick<ListingReader, 'findMerchant'>,
): Promise<string | undefined> {
  const mixed = name.split(/\s+/u).find((word) => latin.test(word) && passing.test(word))
  if (mixed !== undefined) {
    return 'The name mixes letters of several alphabets in one word, as imitations do.'
  }
  const likeId = idLike(name)
  if (likeId === id || merchantIdKind(likeId) === 'malformed') return undefined
  const other = await listings.findMerchant(likeId)
  if (other === undefined || other.deletedAt !== null || other.owner === owner) return undefined
  return `The name looks like that of the merchant ${likeId}, who is somebody else.`
}

/** The id that a name suggests: as it looks, in plain letters. */
function idLike(name: string): string {
  const plain = [...name.normalize('NFKD').toLowerCase()].map((char) => lookalikes[char] ?? char)
  return plain
    .join('')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
}
