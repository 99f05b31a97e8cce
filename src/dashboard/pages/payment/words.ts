import { counted, exactCount } from '../../format/amounts.js'

/** The texts of the pages of payments and of their attestations. */
export const words = {
  find: {
    title: 'Find a payment',
    lead: 'Enter the hash of its transaction. Where there is no transaction yet, enter the address of the payer and the nonce. {check}',
    check: 'Check an attestation of a payment',
    first: 'Transaction hash or payer address',
    notHex: 'Enter a transaction hash (64 hex digits) or an address (40 hex digits).',
    network: 'Network',
    noNetworks: 'The networks are not loaded yet. Try again in a moment.',
    nonce: 'Nonce',
    nonceHint: 'The nonce of the authorization that the payer signed.',
    badNonce: 'The nonce has 64 hex digits.',
    submit: 'Find',
    hexPlaceholder: '0x…',
  },

  title: 'Payment',
  missing: 'No such payment here',
  missingText:
    'Arcus has not settled this payment. Another facilitator may have settled it: an explorer of the chain can tell.',
  findAnother: 'Find another payment',
  several: (count: number) =>
    counted(
      count,
      {
        one: 'This transaction carried # payment.',
        other: 'This transaction carried # payments. Choose one.',
      },
      exactCount,
    ),

  states: {
    queued: { name: 'Queued', meaning: 'Accepted, and waiting for its transaction.' },
    submitted: { name: 'Sent', meaning: 'Sent to the chain. This page updates by itself.' },
    confirmed: { name: 'Confirmed', meaning: 'The merchant has the money. This is final.' },
    failed: { name: 'Failed', meaning: 'No money was moved.' },
  },

  fact: {
    from: 'From',
    to: 'To',
    paidHere: 'Endpoints that are paid at this address',
    for: 'For',
    loading: '…',
    unlisted: 'No listed merchant is proven to be paid at this address.',
    resource: '{resource}, as the payer stated it',
    transaction: 'Transaction',
    noTransaction: 'none yet',
    block: (block: number) => `in block ${block}`,
    nonce: 'Nonce',
    reason: 'Reason',
    gas: 'Gas, paid by Arcus',
    network: 'Network',
  },
  receipt: 'Receipt',
  link: 'Link to this payment',

  timeline: {
    title: 'Timeline',
    noTime: 'no time known',
    since: '{when} · {duration} later',
    accepted: 'Verified and accepted',
    acceptedText: 'Arcus checked the signature, the funds and the terms, and saved the payment.',
    sent: 'Sent',
    sentText: 'A relayer wallet sent its transaction.',
    sentByOthers: 'Somebody else sent the transaction, or the time is not known any more.',
    failed: 'Failed',
    failedText: 'No money was moved.',
    confirmed: 'Confirmed',
    confirmedText: 'Arcus found the transfer in a block.',
    unconfirmed: 'Waiting for a block.',
    answered: 'Answered',
    answeredText: 'Arcus told the merchant’s server once that the payment succeeded.',
    unanswered:
      'The merchant’s server does not know yet. It gets the answer when it asks to settle this payment again.',
  },

  attestation: {
    title: 'Attestation',
    loading: 'Loading…',
    none: 'Arcus signed none for this payment: it had no key for attestations then, or its database was restored.',
    signedBy: 'Signed by {signer}',
    check: 'Check it',
    checkFailed: 'The check could not be made',
    extent:
      'Your browser checked the signature and compared the statement with the record of Arcus. It did not ask the chain.',
    page: {
      title: 'Check an attestation',
      lead: 'An attestation is a signed statement of a facilitator that it settled a payment. Your browser checks the signature. Only the chain proves that the money moved.',
      hint: 'The JSON of the attestation, or the whole answer of settle that carries it.',
      notJson: 'This is no JSON. Paste the attestation as it was given to you.',
      submit: 'Check',
    },
    verdicts: {
      match: {
        title: 'It matches a payment that settled here',
        meaning: 'Payer, recipient, token and amount are those of a payment in this transaction.',
      },
      mismatch: {
        title: 'It contradicts what settled here',
        meaning:
          'The transaction is known, and no payment in it has this payer, recipient and amount.',
      },
      notFound: {
        title: 'No such payment is known here',
        meaning:
          'The signature is good. Another facilitator may have settled it: an explorer of the chain can tell.',
      },
      wrongSignature: {
        title: 'The signature is not that of the facilitator it names',
        meaning: 'Somebody changed the statement, or never had the key. Do not rely on it.',
      },
    },
    amount: 'Amount',
    amountText: '{amount} atomic units of {asset}',
    observed: 'Observed',
    farTime: (seconds: string) => `${seconds} seconds after 1970`,
    facilitator: 'Facilitator',
    ownKey: 'This service signs with this key now.',
    otherKey:
      'This service does not sign with this key now. It may be an older key, or another facilitator.',
    signer: 'Signed by',
  },
} as const
