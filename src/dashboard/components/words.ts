import { counted } from '../format/amounts.js'

/** `12 payers`. */
export const payersOf = (count: number) => counted(count, { one: '# payer', other: '# payers' })

/** The texts of the components that pages share. */
export const words = {
  badge: {
    states: { live: 'Live', unverified: 'Unverified', failing: 'Failing' },
    official: 'Official',
    officialText:
      'The operator of this site runs this merchant. Its revenue goes to the buyback address.',
    partner: 'Partner',
    partnerText: 'The operator of this site named this merchant a partner.',
    agent: (passed: number, all: number) => `Verified agent: ${passed} of ${all} checks`,
    agentText: 'The owner controls the ERC-8004 agent that the listing names.',
    unclaimed: 'Unclaimed',
    warnings: { pay_to_unproven: 'Unproven', confusable_name: 'Look-alike name' },
    unclaimedText:
      'Arcus found this merchant in a settled payment. Nobody has claimed it with the wallet that is paid.',
  },

  copy: {
    action: (name: string) => `Copy ${name}`,
    done: 'Copied',
    refused: 'The browser did not allow copying',
    address: 'address',
    transaction: 'transaction hash',
  },

  ranges: { '24h': '24 hours', '7d': '7 days', '30d': '30 days', all: 'All' },

  figures: {
    prices: {
      fixed: {
        short: (amount: string) => amount,
        exact: (amount: string) => `${amount} a call`,
      },
      metered: {
        short: (amount: string) => `up to ${amount}`,
        exact: (amount: string) => `${amount} a call at most`,
      },
    },
    dearer: 'Asks more than listed',
    cheaper: 'Asks less than listed',
    listedPrice: 'Listed price:',
    livePrice: 'Price now:',
    slowest: (duration: string) => `95% within ${duration}`,
    usage: (calls: number, payers: number) =>
      `${counted(calls, { one: '# paid call', other: '# paid calls' })} by ${payersOf(payers)} in 30 days`,
    busiest: (share: string) => `The busiest payer made ${share} of the calls`,
  },

  trend: {
    calls: (total: string, most: string) =>
      `Paid calls by day for 30 days: ${total} in all, ${most} on the best day`,
    uptime: (share: string, days: number) =>
      `Up in ${share} of the checks, on ${days} of 30 days with a check`,
  },

  loaded: {
    again: 'Try again',
    failed: 'This could not be loaded',
    old: 'What you see may be out of date',
    silent: 'Arcus has not answered since.',
    lastRead: 'Last read {when}. {why}',
  },

  page: {
    name: 'Arcus',
    tab: (title: string) => `${title} · Arcus`,
    loading: 'Loading the page',
    broken: 'This page could not be shown',
    brokenText:
      'The console may have been updated while it was open, or the connection failed. Drafts are kept on this device.',
    reload: 'Load it again',
    partMissing:
      'A part of this page could not be loaded. Arcus may have been updated while it was open.',
    missingTab: 'Not found',
    missing: 'There is no such page',
    missingText: 'The address is mistyped, or the listing was deleted.',
    toDirectory: 'To the directory',
  },

  shell: {
    arcus: 'Arcus',
    skip: 'Skip to content',
    mainNav: 'Main',
    moreNav: 'More',
    directory: 'Directory',
    payments: 'Payments',
    status: 'Status',
    console: 'Console',
    howItWorks: 'How it works',
    forMerchants: 'For merchants',
    forAgents: 'For agents',
    forOperators: 'For operators',
    search: 'Search everything',
    searchTitle: 'Search everything (press /)',
    theme: { dark: 'Switch to the dark theme', light: 'Switch to the light theme' },

    disclaimer:
      'Anybody can list an API here. Arcus settles payments from payer to merchant and holds no money. It does not vouch for the APIs.',
    httpInterface: 'HTTP interface',
    network: (name: string, id: string, isDevnet: boolean) =>
      `${name} (${id})${isDevnet ? ', a local devnet' : ''}`,
    version: (version: string) => `version ${version}`,

    offline: 'You are offline. The figures on this page may be old. Drafts stay on this device.',
    notReady: 'Payments cannot settle at this moment. Do not pay until they can.',
    seeWhy: 'See why',
  },

  search: {
    label: 'Payment, address, merchant or words',
    placeholder: 'Search',
    submit: 'Search',
    hint: 'Words, the id of a merchant, a transaction hash, or an address.',
    odd: 'Part of this address is not understood, and is left out',
  },

  dialog: { close: 'Close' },
  toast: { region: 'What happened', close: 'Close the message' },
  link: { away: '(opens another site)' },
} as const
