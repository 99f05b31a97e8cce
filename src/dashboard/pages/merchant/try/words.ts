/** The texts of “Try it”. */
export const words = {
  open: 'Try it',
  title: 'Try it here',
  lead: (most: string) =>
    `Fill in the call and pay for it with your wallet: ${most} at most, one signature, no gas.`,
  form: 'Form',
  json: 'JSON',
  callAndPay: (most: string) => `Call and pay ${most}`,
  callAgain: (most: string) => `Call again for ${most}`,
  sameAgain: 'Send the same payment again',
  asking: 'Asking for the price…',
  signing: 'Answer in the wallet.',
  paying: 'Paid call under way. This can take half a minute.',
  dearer: (live: string, cap: string) =>
    `The endpoint asks for ${live} at the moment, and is listed at ${cap}. More than the listed price is never signed here.`,

  noTerms: 'The endpoint asks for a payment and does not say how, in the form of x402 version 2.',
  version1: 'The endpoint asks for a payment by x402 version 1, which is not settled here.',
  otherMoney: (symbol: string, network: string) =>
    `The endpoint does not take ${symbol} on ${network}, though it is listed with it.`,
  needsAgent:
    'The endpoint takes payments that one signature cannot make: a ceiling, a channel or an allowance. That way of paying needs an agent or a program.',
  otherPayTo: 'The endpoint asks to pay another address than the one this page shows.',
  tooDear: (asked: string, cap: string) =>
    `The endpoint asks for ${asked}. This page shows ${cap}, and signs nothing above it.`,
  tooLong: 'The terms of the endpoint are too long to be sent back with a payment.',

  refused: 'Nothing was signed, nothing was paid',
  notCalled: 'The endpoint was not called',
  notAnswered: 'The endpoint did not answer, and nothing was signed',
  free: 'The endpoint asked for no payment',
  freeText: (status: number) => `It answered ${status} without one, and nothing was signed.`,
  otherAccount: 'The wallet changed its account meanwhile. Nothing was signed.',

  unknown: 'It is not known whether the payment went through',
  unknownText:
    'The signed payment was sent, and no answer came. It can be taken once at most. Sending the same payment again cannot pay twice.',
  notTaken: 'The endpoint did not confirm the payment',
  notTakenText: (until: string) =>
    `The merchant holds your signature and could still take this one payment until ${until}. Sending the same payment again cannot pay twice.`,
  failed: 'The payment failed: Arcus moved no money',
  expired: 'The payment can no longer be taken: its time is over',
  checking: 'The merchant says it is paid. Arcus looks the payment up…',
  claimed: 'The merchant says it is paid; Arcus does not know this payment',
  claimedUnasked: 'The merchant says it is paid; Arcus could not be asked',
  paid: 'Paid',
  paidButRefused: 'Paid, and the endpoint answered with an error',
  settling: 'The payment is on its way to the chain.',

  playWallet: 'Play wallet',
  playText: 'Play money of this devnet. Its key is public, and it is worth nothing anywhere.',
  ownWallet: 'My wallet',
  connect: 'Connect wallet',
  change: 'Change',
  connectFirst: 'Connect a wallet to pay.',
  pathPlace: 'Part of the address',
  agentOnly: 'Only programs can call this endpoint',
  agentOnlyText: 'Take the code below.',

  answer: 'Answer',
  cost: 'Cost',
  nothingKnown: 'nothing that Arcus knows of',
  transaction: 'Transaction',
  toldTransaction: 'Transaction, as the merchant tells it',
  receipt: 'Receipt',
  lookUp: 'Look the payment up',
  proof: 'Attestation',
  checkProof: 'Check it',
  download: 'Download',
  binary: (bytes: number, type: string) => `${bytes} bytes of ${type}`,
  cut: 'The rest is in the download.',
  empty: 'The body is empty.',
  byPage: 'Called from this page.',
  byService: 'Called through Arcus, because the host does not let pages call it.',

  required: 'Needed.',
  notNumber: 'Write a number.',
  notInteger: 'Write a whole number.',
  notJson: 'This is no JSON.',
  notObject: 'Write an object in braces: { }.',
  tooMuch: 'The call is longer than 64 KiB.',
} as const
