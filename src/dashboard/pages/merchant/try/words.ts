/** The texts of “Try it”. */
export const words = {
  title: 'Try it here',
  lead: (most: string) =>
    `Fill in the call and pay for it with your wallet: ${most} at most, by signature and without gas.`,
  leadMetered: (most: string) =>
    `Fill in the call and pay for it with your wallet. The price depends on what the call uses: you sign for ${most} at most, without gas.`,
  wayToFill: 'Way to fill in the call',
  form: 'Form',
  json: 'JSON',
  callAndPay: (most: string) => `Call and pay ${most}`,
  callAgain: (most: string) => `Call again for ${most}`,
  upTo: (most: string) => `up to ${most}`,
  sameAgain: 'Send the same payment again',
  asking: 'Asking for the price…',
  agreeing: 'Your answer is needed below.',
  approving: 'Send the approval in the wallet. The page goes on when it is on chain.',
  signing: 'Answer in the wallet.',
  paying: 'Paid call under way. Keep this tab open.',
  payingLong:
    'The endpoint is slow. The page waits for two minutes at most, and then says what it knows. You cannot pay twice.',
  stillOpen: (until: string) =>
    `A payment that is under way could still be taken until ${until}. Until then no other one is signed here.`,
  twice: 'Two signatures are needed',
  twiceText: (most: string) =>
    `Your wallet has not approved Permit2, the contract by which this endpoint is paid. The first signature is a permit: Permit2 may take ${most} of yours, and no more. The second is the payment. Neither costs gas, and nothing is sent before both are signed.`,
  twiceYes: 'Sign both',
  approve: 'An approval is needed first',
  approveText: (most: string) =>
    `Your wallet has not approved Permit2, the contract by which this endpoint is paid, and the endpoint takes no signed permit. You can approve ${most}, and no more, with a transaction of your own. It costs you gas, and is not a payment. The signature of the payment comes after it.`,
  approveYes: 'Approve in the wallet',
  stop: 'Stop',
  dearer: (live: string, cap: string) =>
    `The endpoint asks for ${live} at the moment, and is listed at ${cap}. More than the listed price is never signed here.`,

  noTerms: 'The endpoint asks for a payment and does not say how, in the form of x402 version 2.',
  version1: 'The endpoint asks for a payment by x402 version 1, which is not settled here.',
  otherMoney: (symbol: string, network: string) =>
    `The endpoint does not take ${symbol} on ${network}, though it is listed with it.`,
  otherRail: (paid: string) =>
    `What the endpoint asks for is ${paid}. Paying it needs a program made for that.`,
  needsAgent:
    'The endpoint takes only payments that a wallet cannot make here, such as those through a channel. That way of paying needs an agent or a program.',
  notByPermit2:
    'The endpoint takes only payments by Permit2, and Arcus does not settle those on this network, or could not be asked.',
  otherFacilitator:
    'The endpoint has its payments settled by another service than this one, so Arcus could not tell you how they end.',
  allowanceUnread:
    'The endpoint is paid by Permit2, and the wallet did not tell whether it has approved that. Try again, or use another wallet.',
  needsApproval: (symbol: string, permit2: string) =>
    `The endpoint is paid by Permit2, which this wallet has not approved for ${symbol}, and the endpoint takes no signed permit. Approve Permit2 (${permit2}) once, and call again.`,
  approvalUnseen:
    'The approval did not appear on chain in time. Look into your wallet, and call again.',
  otherPayTo: 'The endpoint asks to pay another address than the one this page shows.',
  tooDear: (asked: string, cap: string) =>
    `The endpoint asks for ${asked}. This page shows ${cap}, and signs nothing above it.`,
  tooLong: 'The terms of the endpoint are too long to be sent back with a payment.',

  refused: 'Nothing was signed, nothing was paid',
  unsent: 'Nothing was paid: the payment was not signed',
  notCalled: 'The endpoint was not called',
  notAnswered: 'The endpoint did not answer, and nothing was signed',
  free: 'The endpoint asked for no payment',
  freeText: (status: number) => `It answered ${status} without one, and nothing was signed.`,
  otherTab: 'Another tab is paying this endpoint. Finish or close it there, and call again.',
  otherAccount: 'The wallet changed its account meanwhile. Nothing was signed.',

  unknown: 'It is not known whether the payment went through',
  unknownText:
    'The signed payment was sent, and no answer came. It can be taken once at most. Sending the same payment again cannot pay twice.',
  notSent: 'The payment was not sent',
  notSentText:
    'The endpoint did not get it, and nothing was paid. You can send the same payment again.',
  notTaken: 'The endpoint did not confirm the payment',
  notTakenText: (until: string) =>
    `The merchant holds your signature and could still take this one payment until ${until}. Sending the same payment again cannot pay twice.`,
  failed: 'The payment failed: Arcus moved no money',
  expired: 'The payment can no longer be taken: its time is over',
  checking: 'The merchant says it is paid. Arcus looks the payment up…',
  claimed: 'The merchant says it is paid; Arcus does not know this payment',
  chargedNothing: 'The merchant says it charged nothing for this call',
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
  ceiling: 'Signed for, at most',
  atMost: (amount: string) => `${amount} at most`,
  nothingKnown: 'nothing that Arcus knows of',
  transaction: 'Transaction',
  toldTransaction: 'Transaction, as the merchant tells it',
  receipt: 'Receipt',
  lookUp: 'Look the payment up',
  proof: 'Attestation',
  checkProof: 'Check it',
  download: 'Download',
  binary: (bytes: number, type: string) => `${bytes} bytes of ${type}`,
  unknownType: 'unknown type',
  cut: 'The rest is in the download.',
  empty: 'The body is empty.',
  byPage: 'Called from this page.',
  byService: 'Called through Arcus, because the host does not let pages call it.',

  left: 'A payment was under way here: in another tab, or before this page was loaded',
  leftPaid: (amount: string) => `It was paid: ${amount}.`,
  leftSettling: 'It is on its way to the chain.',
  leftFailed: (until: string) =>
    `It failed, and Arcus moved no money. The merchant could still take it until ${until}.`,
  leftOpen: (amount: string, until: string) =>
    `It is not settled so far: ${amount}. The merchant could still take it, once, until ${until}. Its signature is not kept, so it cannot be sent again from here.`,
  leftOver: 'It can no longer be taken: its time is over.',
  leftClose: 'Close',

  noAnswer: 'No answer came in time.',
  tooLongAnswer: 'The answer is too long.',
  noPlayMoney: 'There is no play money on a real network.',
  noNode: 'This devnet names no node.',
  badAnswer: 'The answer of the node is no number.',

  required: 'Needed.',
  notNumber: 'Write a number.',
  notInteger: 'Write a whole number.',
  notJson: 'This is no JSON.',
  notObject: 'Write an object in braces: { }.',
  tooMuch: 'The call is longer than 64 KiB.',
} as const
