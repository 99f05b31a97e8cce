/**
 * Sentences for sellers that say which side left something out of a payment, and what happens next. `EXTENSION-RESPONSES`
 * carries at most 300 characters.
 */
export const leftOut = {
  /** While the URL is asked. */
  asking:
    "The buyer's client left the bazaar extension out of the payment: Arcus asks the URL itself, once, by GET, and lists it if its own 402 declares the extension.",
  noUrl:
    "The buyer's client left resource.url out of the payment, or sent no web address: it counts for the one API that is listed for this payTo at this price, if there is just one.",
  /** Before what the GET found. */
  found: "the buyer's client left the bazaar extension out, and a GET of the URL found:",
  /** After it. */
  next: 'A payment whose client sends the extension, or a signed listing, lists it whatever a GET finds.',
  noDeclaration:
    "its 402 declares no bazaar extension that can be read: the seller's server must declare it, as @arcus/merchant and declareDiscoveryExtension do.",
  noMatch:
    "the buyer's client left resource.url out, or sent no web address, and not just one API is listed for this payTo at this price. A payment that names its URL, or a signed listing, lists it.",
  ownPayment:
    "the buyer's client left the bazaar extension out, and the payer paid themselves: the URL is asked after a payment of somebody else.",
  notYet: (scope: string) =>
    `the buyer's client left the bazaar extension out, and the URL was not asked yet: too many URLs were ${scope}. The next payment asks again.`,
  malformed:
    "The seller's server declares the extension and the buyer's client sends it back: POST /discovery/validate shows what the server sends. The next good payment lists it.",
  privateHost:
    "The seller's server wrote this URL into its 402: set its public https address there. The next payment with it is listed.",
  otherTerms:
    "The seller's 402 asked for other terms than were paid when it was last read: it is read again within ten minutes, and the price in it is listed.",
}
