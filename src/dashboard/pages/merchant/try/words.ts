/** The texts of “Try it”. */
export const words = {
  title: 'Try it here',
  lead: (most: string) =>
    `Fill in the call and pay for it with your wallet: ${most} at most, by signature and without gas.`,
  json: 'JSON',
  callAndPay: (most: string) => `Call and pay ${most}`,
  callAgain: (most: string) => `Call again for ${most}`,
  asking: 'Asking for the price…',
  signing: 'Answer in the wallet.',
  paying: 'Paid call under way. Keep this tab open.',
  payingLong:
    'The endpoint is slow. The page waits for two minutes at most, and then says what it knows. You cannot pay twice.',
  stillOpen: (until: string) =>
    `A payment that is under way could still be taken until ${until}. Until then no other one is signed here.`,
  dearer: (live: string, cap: string) =>
    `The endpoint asks for ${live} at the moment, and is listed at ${cap}. More than the listed price is never signed here.`,

  tooLong: 'The terms of the endpoint are too long to be sent back with a payment.',

  refused: 'Nothing was signed, nothing was paid',
  notCalled: 'The endpoint was not called',
  notAnswered: 'The endpoint did not answer, and nothing was signed',
  free: 'The endpoint asked for no payment',
  freeText: (status: number) => `It answered ${status} without one, and nothing was signed.`,
  otherAccount: 'The wallet changed its account meanwhile. Nothing was signed.',

  unknown: 'It is not known whether the payment went through',
  notSent: 'The payment was not sent',
  notSentText: 'The endpoint did not get it, and nothing was paid.',
  notTaken: 'The endpoint did not confirm the payment',
  notTakenText: (until: string) =>
    `The merchant may hold your signature, and could take this one payment, once, until ${until}. Until then no other one is signed here.`,
  byCode: 'A program can pay this: copy the code below.',
  failed: 'The payment failed: Arcus moved no money',
  expired: 'The payment can no longer be taken: its time is over',
  checking: 'The merchant says it is paid. Arcus looks the payment up…',
  claimed: 'The merchant says it is paid; Arcus does not know this payment',
  claimedUnasked: 'The merchant says it is paid; Arcus could not be asked',
  paid: 'Paid',
  paidButRefused: 'Paid, and the endpoint answered with an error',
  settling: 'The payment is on its way to the chain.',

  wallet: 'Wallet',
  playWallet: 'Play wallet',
  playText: 'Play money of this devnet. Its key is public, and it is worth nothing anywhere.',
  ownWallet: 'My wallet',
  connect: 'Connect wallet',
  change: 'Change',
  connectFirst: 'Connect a wallet to pay.',
  pathPlace: 'Part of the address',

  answer: 'Answer',
  cost: 'Cost',
  nothingKnown: 'nothing that Arcus knows of',
  transaction: 'Transaction',
  toldTransaction: 'Transaction, as the merchant says',
  receipt: 'Receipt',
  lookUp: 'Look the payment up',
  download: 'Download',
  binary: (bytes: number, type: string) => `${bytes} bytes of ${type}`,
  unknownType: 'unknown type',
  cut: 'The rest is in the download.',
  empty: 'The body is empty.',
  byPage: 'Called from this page.',
  byService: 'Called through Arcus, because the host does not let pages call it.',

  noAnswer: 'No answer came in time.',
  tooLongAnswer: 'The answer is too long.',
  noPlayMoney: 'There is no play money on a real network.',

  required: 'Needed.',
  notNumber: 'Write a number.',
  notInteger: 'Write a whole number.',
  notJson: 'This is no JSON.',
  notObject: 'Write an object in braces: { }.',
  tooMuch: 'The call is longer than 64 KiB.',
} as const
