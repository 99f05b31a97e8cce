import { payersOf } from '../../components/words.js'
import { counted, exactCount } from '../../format/amounts.js'

/** The texts of the home page. */
export const words = {
  loading: 'Loading the figures',
  title: 'APIs that are paid\nby the call.',
  lead: 'A program pays for each call, in digital dollars or euros, straight to the seller. No account, no API key. {howItWorks} · {list}',
  howItWorks: 'How it works',
  list: 'List your API\u00a0→',

  totals: {
    calls: 'Paid calls, 30 days',
    revenue: 'Paid to merchants',
    net: 'after refunds',
    settleTime: 'Settle time',
    successRate: 'Success rate',
  },

  chart: {
    title: 'By day',
    legend: 'The figures in the chart',
    payments: { choice: 'Payments', label: 'Payments by day', note: '30 days, after refunds' },
    volume: {
      choice: 'Volume',
      label: 'Volume by day',
      note: '30 days, after refunds, payments in dollars',
    },
    day: (day: string, calls: number, usdc: string) =>
      `${day}: ${counted(calls, { one: '# paid call', other: '# paid calls' }, exactCount)}, ${usdc}`,
  },

  feed: {
    title: 'Latest payments',
    connecting: 'Connecting',
    live: 'Live',
    lost: 'Not live, connecting again',
    empty: 'No payments yet. New ones appear here.',
    to: 'to {merchant}',
    unlisted: 'to an address that is not listed',
  },

  top: {
    title: 'Merchants with the most payers',
    note: 'Different payers in 30 days.',
    empty: 'No merchant yet. A payment to a listed one counts here after a minute or two.',
    figures: (payers: number, calls: number) =>
      `${payersOf(payers)}, ${counted(calls, { one: '# call', other: '# calls' })}`,
  },

  latest: {
    title: 'Just listed',
    note: 'Listed by their owners, and not reviewed.',
    all: 'All endpoints',
    empty: 'Nothing is listed yet.',
    by: 'by {merchant}',
  },

  categories: 'Categories',
  merchants: (count: number) => counted(count, { one: '# merchant', other: '# merchants' }),
} as const
