import { plural } from '../../format/amounts.js'

/** The texts of the console, by screen. A name in braces is the place of an element. The editor has its own. */
export const words = {
  overview: {
    title: 'Your listings',
    lead: 'Paste the URL of your API, check what it asks for, and sign once. There is no account and no password: the wallet that signs is the owner.',
    list: 'List an API',
    loading: 'Loading your listings',
    draft: 'You have a draft on this device',
    continueDraft: 'Continue the draft',
    savedDraft: '{name}, saved {when}',
    unnamed: 'Unnamed',
    steps: [
      [
        'Connect a wallet',
        'It becomes the owner of its listings. Arcus asks it for signatures only, never for a transaction.',
      ],
      [
        'Paste the URL of your API',
        'Arcus reads its 402 answer and fills in the form: price, token, payout address, parameters.',
      ],
      [
        'Sign once',
        'Arcus checks the endpoint and lists it at once. Then you can watch payments arrive.',
      ],
    ],
    offered: 'Offered to you',
    offeredNote: 'Accept with a signature to become the owner.',
    none: 'This wallet owns no listing yet',
    noneNote: 'If another wallet owns your listing, switch to that wallet above.',
    owned: 'Owned by you',
    found: 'Found in payments to you',
    foundNote:
      'Arcus found these endpoints in settled payments to your wallet. To become the owner, open a listing and save it.',
    changed: 'Changed {when}',
    hidden: 'Hidden by the operator',
    revenue: 'Revenue, 30 days',
    revenueNote: 'After refunds',
    payments: 'Payments',
    success: 'Success rate',
    live: (count: number) => `${count} live`,
    unverified: (count: number) => `${count} unverified`,
    failing: (count: number) => `${count} failing`,
  },

  endpoints: {
    title: 'Endpoints',
    note: 'Arcus checks each endpoint every six hours, and sooner after a failed check. After three failed checks in a row the directory leaves it out of its default list, until it works again. Your public page always shows it.',
    check: 'Check now',
    failures: (count: number) =>
      plural(count, { one: '1 failed check', other: `${count} failed checks in a row` }),
    notChecked: 'This endpoint could not be checked now',
    listed: 'Listed',
    listedNote: 'The price in the listing',
    asked: 'Asked',
    askedNote: 'The price that the endpoint asked for at the last check',
    paid: 'Paid, 30 days',
    paidNote: 'The average of the payments. It is known for prices in dollars.',
    average: (count: number, shown: string) =>
      plural(count, { one: 'One payment', other: `The average of ${shown} payments` }),
    signIn: 'Sign in to see it',
  },
} as const
