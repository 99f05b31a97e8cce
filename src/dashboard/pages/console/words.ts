import { plural } from '../../format/amounts.js'

/** The texts of the console, by screen. A name in braces is the place of an element. The editor has its own. */
export const words = {
  overview: { title: 'Your APIs' },

  manage: {
    parts: { activity: 'Activity', endpoints: 'APIs', settings: 'Settings' },
    navigation: 'Listing',
    missing: 'There is no such listing',
    missingNote:
      'It was deleted, or it never existed. The id of a deleted listing stays with its owner, who can use it again.',
    publicPage: 'Public page',
    hidden: 'The operator has hidden this listing',
    unclaimed: 'Nobody owns this listing yet',
    unclaimedNote:
      'Arcus found it in a settled payment. To become the owner, save it with the wallet {wallet}, which receives its payments.',
    ofOperator: 'The operator of this service wrote this listing',
    ofOperatorNote:
      'To become the owner, save it with the wallet {wallet}, which receives its payments.',
    ofAnother: 'Another wallet owns this listing',
    ofAnotherNote: 'It belongs to {wallet}. Switch to that wallet to change anything.',
  },

  activity: {
    title: 'Activity',
    loading: 'Loading activity',
    loadingFigures: 'Loading the figures',
    endpoint: 'Endpoint',
    allEndpoints: 'All endpoints',
    elsewhere:
      'Webhooks and the payout address are under {settings}. The last check of each endpoint is under {endpoints}.',

    unproven: 'Payments are not counted here yet',
    unprovenNote:
      'This listing is paid at {address}. That address has not confirmed the owner yet: its key has to sign once. Payments after that appear here.',
    confirm: 'Confirm the payout address',

    signIn: 'Sign in to see payments',
    signInNote:
      'Only the owner can see payments. The signature allows reading for one hour and cannot change anything.',
    connect: 'Connect the owner’s wallet',
    sign: 'Sign in with the wallet',
    onlyOwner: (wallet: string) => `Only the wallet ${wallet} can sign in here.`,
    notSignedIn: 'Not signed in',
  },

  figures: {
    revenue: 'Revenue',
    revenueNote: (count: number, refunds: string, usdc: string) =>
      plural(count, {
        one: `After one refund of ${usdc}`,
        other: `After ${refunds} refunds, ${usdc} in all`,
      }),
    /** `refunded` is an amount, `own` the count of payments of the owner to themselves; `undefined` for none. */
    revenueIs: (refunded: string | undefined, own: number, ownShown: string) =>
      [
        ...(refunded === undefined ? [] : [`after ${refunded} of refunds`]),
        ...(own === 0
          ? []
          : [
              plural(own, {
                one: 'without one payment to yourself',
                other: `without ${ownShown} payments to yourself`,
              }),
            ]),
      ].join(', ') || 'USDC',
    payments: 'Payments',
    paymentsNote: (settled: string, all: string) =>
      `${settled} of ${all} payment requests were settled`,
    failed: (count: string) => `${count} failed`,
    payers: 'Payers',
    payersNote: (all: string, repeat: string) =>
      `${all} different payers, ${repeat} of them paid more than once`,
    cameBack: (count: string) => `${count} came back`,
    success: 'Success rate',
    successNote:
      'A payment counts as failed if it was found valid and was then not settled. Failures that a payer causes count once a day.',
    ofValid: 'of valid payments',
    settleTime: 'Settle time',
    settleTimeNote: (count: string) =>
      `Half of the ${count} payments were settled at least as fast`,
    within: (time: string) => `95% within ${time}`,
    verified: 'Verified',
    verifiedNote: (valid: string, all: string) =>
      `${valid} of ${all} verifications found a payment valid`,
    invalid: (count: string) => `${count} not valid`,
    gas: 'Gas',
    gasNote: (usdc: string) => `${usdc} for all payments`,
    paidByArcus: 'paid by Arcus',
  },

  range: {
    legend: 'Period',
    custom: 'Custom',
    from: 'From',
    fromDay: 'From day, UTC',
    to: 'To',
    toDay: 'To day, UTC',
  },

  failures: {
    title: 'Failures by reason',
    none: 'Nothing failed in this period.',
    refused: 'Refused payments',
    refusedNote:
      'These were never found valid, were used before, or were over the limit of their payer. They do not count in the success rate.',
    verify: 'when verifying',
    settle: 'when settling',
    times: (reason: string, count: number) => `${reason}: ${count}`,
    more: (count: string) => `and ${count} more`,
  },

  chart: {
    legend: 'The figures in the chart',
    payments: 'Payments',
    revenue: 'Revenue',
    paymentsByHour: 'Payments by hour',
    paymentsByDay: 'Payments by day',
    revenueByHour: 'Revenue by hour',
    revenueByDay: 'Revenue by day',
    settled: 'settled',
    failed: 'failed',
    hours: 'hours in your time zone',
    days: 'days in UTC',
    revenueIs: (times: string) => `USDC, without payments to yourself, ${times}`,
    bar: (time: string, settled: string, failed: string, verified: string, usdc: string) =>
      `${time}: ${settled} settled, ${failed} failed, ${verified} verified, ${usdc}`,
  },

  breakdown: {
    endpoints: 'By endpoint',
    loadingEndpoints: 'Loading the endpoints',
    payers: 'Top payers',
    loadingPayers: 'Loading the payers',
    nobody: 'Nobody paid in this period.',
    showAll: (count: number) => `Show all ${count}`,
    endpoint: 'Endpoint',
    notListed: 'No listed endpoint',
    noLongerListed: 'No longer listed',
    showOnly: 'Show only this endpoint',
    revenue: 'Revenue',
    payments: 'Payments',
    payersCount: 'Payers',
    success: 'Success rate',
    lastPaid: 'Last paid',
    history: 'History',
    healthAndPrices: 'Health and prices',
    payer: 'Payer',
    paid: 'Paid',
    share: 'Share',
  },

  table: {
    label: 'Payments',
    kind: 'Kind',
    kinds: {
      settle: 'Payments',
      '': 'Payments and verifications',
      verify: 'Verifications',
    },
    verification: 'verification',
    state: 'State',
    anyState: 'Any state',
    states: {
      settled: 'settled',
      free: 'free',
      refunded: 'refunded',
      failed: 'failed',
      refused: 'refused',
      pending: 'pending',
      valid: 'valid',
      invalid: 'invalid',
    },
    csv: 'Download CSV',
    loading: 'Loading the table',
    empty: 'Nothing to show yet',
    emptyNote:
      'Nothing fits this period and these filters. New payments appear here as they happen.',
    pages: 'Pages',
    page: (number: number) => `Page ${number}`,
    newer: 'Newer',
    isNewest: 'This is the newest page.',
    older: 'Older',
    isOldest: 'This is the oldest page.',
    time: 'Time',
    amount: 'Amount',
    endpoint: 'Endpoint',
    payer: 'Payer',
    yourself: 'yourself',
    reason: 'Reason',
    transaction: 'Transaction',
  },

  alerts: {
    paymentsFail: (count: number) => `The last ${count} payments failed`,
    endpointsFail: (count: number) =>
      plural(count, {
        one: 'An endpoint fails its checks',
        other: `${count} endpoints fail their checks`,
      }),
    seeWhy: 'See why',
    hooksFail: (count: number) =>
      plural(count, {
        one: 'A webhook does not receive its events',
        other: `${count} webhooks do not receive their events`,
      }),
    seeHooks: 'See the webhooks',
    arrived: (count: number) =>
      plural(count, {
        one: 'A payment arrived while you were away.',
        other: `${count} payments arrived while you were away.`,
      }),
    manyArrived: (count: number) => `At least ${count} payments arrived while you were away.`,
  },

  settings: {
    noOwner: 'Nobody owns this listing.',
    connectFirst: (wallet: string) => `Connect the wallet ${wallet} first.`,
    onlyWallet: (wallet: string) =>
      `Only the wallet ${wallet} can sign this. Switch to that wallet above.`,
    addressFormat: 'Give an address: 0x and 40 digits.',
  },

  agent: {
    title: 'ERC-8004 agent',
    note: 'Link the registered agent of this merchant. Arcus makes four checks, repeats them, and shows the result and the date of each.',
    id: 'Agent id',
    idFormat: 'Give the number of the agent, such as 214.',
    link: 'Sign and link',
    unlink: 'Sign and unlink',
    linked: 'Signed. Arcus makes the checks now.',
    unlinked: 'The agent is unlinked.',
  },

  payout: {
    title: 'Payout address',
    note: 'Anybody can list an address that is not theirs. Payments count for this listing once the key of the address confirms the owner with a signature.',
    confirmed: '{address} has confirmed the owner.',
    unconfirmed: '{address} has not confirmed the owner yet.',
    confirm: 'Sign and confirm',
    withdraw: 'Sign and withdraw',
    switchWallet: 'To sign, switch to the wallet of the payout address.',
    confirmedNow: 'Confirmed. Payments count from now on.',
    withdrawnNow: 'The confirmation is withdrawn.',
  },

  transfer: {
    title: 'Transfer',
    note: 'You offer the listing, and the new owner accepts it within seven days. The transfer removes the agent link and the marks of the operator. The payout address stays until the new owner changes it.',
    offered: 'Offered to {wallet}. The offer ends {when}.',
    newOwner: 'New owner',
    isOwner: 'This address is the present owner.',
    offer: 'Sign and offer',
    offeredNow: 'Offered. The new owner finds it in their console.',
    takeBack: 'Take the offer back',
    takenBack: 'The offer is taken back.',
    acceptNote:
      'Some things start again when you accept. A payout address other than your wallet has to confirm you. You see payments from then on, not earlier ones. Buyers pay the present address until you save another one.',
    accept: 'Sign and accept',
    accepted: 'The listing is yours. Now make sure that its payout address is right.',
  },

  remove: {
    title: 'Delete',
    note: 'The listing leaves the directory at once. Its id stays yours, and its signed history stays public.',
    open: 'Delete this listing',
    ask: 'Delete this listing?',
    typeId: (id: string) => `Type ${id} to confirm`,
    typeIdFirst: (id: string) => `Type ${id} first.`,
    keep: 'Keep it',
    sign: 'Sign and delete',
    deleted: (id: string) => `${id} is deleted. Its id stays yours.`,
  },

  webhooks: {
    title: 'Webhooks',
    note: 'Arcus calls a URL of yours when something happens, once its receiver has answered a challenge. Each call is signed with a secret that is shown to you once. All events can be sent again once in ten minutes.',
    signIn: 'Sign in to see them',
    url: 'URL to call',
    urlFirst: 'Give the URL to call first.',
    events: 'Events',
    eventFirst: 'Choose an event first.',
    types: {
      'payment.settled': 'Payments that settled',
      'payment.failed': 'Payments that failed',
      'endpoint.failing': 'Endpoints that fail their checks',
      'endpoint.recovered': 'Endpoints that work again',
      'price.drift': 'Prices that differ from the listing',
    },
    add: 'Sign and add',
    added: 'Added.',
    challenge:
      'Arcus has sent this URL a challenge. Once the receiver answers with its text, deliveries begin. Nothing else is sent before.',
    unanswered:
      'The receiver did not answer the challenge, and Arcus asks it no more. Correct the receiver, and send the challenge again.',
    ask: 'Send the challenge again',
    asked: 'Signed. The challenge is on its way.',
    secret: 'Keep this secret now. It is not shown again.',
    states: {
      unconfirmed: 'Not confirmed',
      active: 'Active',
      retrying: 'Trying again',
      parked: 'Stopped',
    },
    undelivered: 'nothing delivered yet',
    delivered: 'last delivered {when}',
    stopped: 'Nothing is delivered any more',
    failed: 'The last call failed',
    lossy: 'Some events were dropped before they were delivered',
    resume: 'Start again',
    replay: 'Send all events again',
    replayed: 'Signed. Deliveries begin now.',
    remove: 'Remove',
    removed: 'The webhook is removed.',
  },
} as const
