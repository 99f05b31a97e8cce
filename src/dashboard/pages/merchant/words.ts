import { payersOf } from '../../components/words.js'
import { counted, exactCount } from '../../format/amounts.js'

/** The texts of the page of a merchant, and of its endpoints. */
export const words = {
  missing: 'There is no such merchant',
  missingText: 'The id is mistyped, or the owner deleted the listing.',
  toDirectory: 'To the directory',
  back: '← Directory',
  loading: 'Loading the merchant',
  hidden: 'Hidden by the operator',
  endpoints: (count: number) => counted(count, { one: '# endpoint', other: '# endpoints' }),
  identity: 'Identity',
  facts: 'Money and ownership',
  claim: 'Is this your API?',
  claimText: 'Arcus found it in a settled payment. The wallet that is paid can claim it.',
  claimAction: 'Claim it',

  fact: {
    payTo: 'Paid to',
    buyback: 'Buyback address',
    buybackText: 'Revenue of official merchants goes to this public buyback wallet.',
    notBuyback: 'This is not the present buyback wallet of the operator.',
    owner: 'Owner',
    nobody: 'nobody yet',
    operator: 'the operator',
    unreviewed: 'The owner signed this listing. Nobody has reviewed it.',
    network: 'Network',
    listed: 'Listed',
    listedText: '{listed}, changed {changed}',
    history: 'Signed history',
    messages: (count: number) =>
      counted(count, { one: '# message', other: '# messages' }, exactCount),
    machines: 'For programs',
  },

  totals: {
    title: 'Public totals',
    range: 'Period',
    failed: (why: string) => `Public totals could not be loaded: ${why}`,
    calls: 'Paid calls',
    revenue: 'Revenue',
    payers: 'Payers',
    repeat: (count: string) => `${count} came back`,
    successRate: 'Success rate',
    settleTime: 'Settle time',
    note: 'Refunds are taken off. Payments of an owner to their own merchant, and invalid payments, are not counted.',
  },

  /** Says when an agent or an endpoint was checked. */
  checked: 'checked {when}',

  checks: {
    names: { control: 'Control', pay: 'Payment', file: 'File', domain: 'Domain' },
    meanings: {
      control: 'The owner of the listing controls the agent.',
      pay: 'Agent and listing have the same payout address.',
      file: 'The registration file of the agent names the agent.',
      domain: 'The host of the endpoint names the agent.',
    },
    passed: 'passed',
    failed: 'not passed',
    unchecked: 'not checked',
    pending: 'Not checked yet',
    agent: 'ERC-8004 agent {agent}',
    noAgent:
      'This listing names no ERC-8004 agent. Only the wallet that signs for it and the address that is paid are known.',
  },

  endpoint: {
    hosted: 'Hosted by the operator',
    settled: (duration: string) => `Half of the payments settled within ${duration}`,
    lastPaid: 'Last paid {when}',
    uptime: (share: string, checks: number) =>
      `Up in ${share} of ${counted(checks, { one: '# check', other: '# checks' })} in 30 days.`,
    latency: (duration: string) => `It answers in ${duration}.`,
    tryIt: 'Try it',
    paidByCode: 'A program pays for this one. Copy the code below.',
    inputSchema: 'Input schema',
    unchecked: 'not checked yet',
    nextCheck: 'next check {when}',
  },

  code: {
    label: 'Ways to call it',
    curl: 'See the price',
    fetch: 'Pay with @x402/fetch',
    toolCall: 'Call the tool',
  },

  /** The names of what a button copies. */
  copy: {
    url: 'URL',
    curl: 'curl command',
    fetch: 'TypeScript client',
    toolCall: 'tools/call',
    inputSchema: 'input schema',
  },

  ratings: {
    average: (average: number, payments: number, payers: number) =>
      `Rated ${average} of 100 from ${counted(payments, { one: '# payment', other: '# payments' })} by ${payersOf(payers)}.`,
    busiest: (share: string) => `One payer gave ${share} of the ratings.`,
    score: (score: number) => `${score} out of 100`,
    show: 'Read the ratings',
    about:
      'Each comes from somebody who paid for this endpoint here. A merchant could pay from wallets of their own, so the number of payers matters.',
    answer: 'The merchant answers:',
    more: 'Only the newest are shown.',
  },
} as const
