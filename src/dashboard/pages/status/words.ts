import { counted, exactCount } from '../../format/amounts.js'

const minutes = (count: number) =>
  counted(count, { one: '# minute', other: '# minutes' }, exactCount)

/** The texts of the status page. */
export const words = {
  title: 'Status',
  lead: 'This page shows whether payments settle now, and how fast they settled lately.',
  unknown: 'Not known at this moment',
  before: (title: string) => `When last read: ${title}.`,
  running: 'Up for {span}, version {version}. Read {when}.',

  settling: {
    hour: 'This hour and the previous one',
    day: 'Last 24 hours',
    settled: 'Settled',
    failed: (failed: number) => `${exactCount(failed)} failed`,
    failedAndRefunds: (failed: number, refunds: number) =>
      `${exactCount(failed)} failed, ${counted(refunds, { one: '# refund', other: '# refunds' }, exactCount)}`,
    successRate: 'Success rate',
    settleTime: 'Settle time',
    verified: 'Verified',
    verifyTime: 'Verify time',
  },

  network: {
    block: 'Last block',
    age: (span: string) => `${span} old`,
    unreadable: 'the chain cannot be read',
    queue: 'Waiting to be sent',
    working: 'Wallets that can send',
    workingOf: (working: number, all: number) => `${working} of ${all}`,
    runway: 'Gas lasts',
    days: (days: number) => counted(days, { one: '# day', other: '# days' }, exactCount),
    rate: 'at the present rate',
    unknownRate: 'too little spent to estimate',
    nothing: '–',
  },

  wallets: {
    title: 'Relayer wallets',
    wallet: 'Relayer wallet',
    state: 'State',
    states: { open: 'can send', unfunded: 'needs gas', closed: 'closed' },
    inFlight: 'Waiting for a block',
    oldest: 'Oldest of them',
    gas: 'Gas left',
  },

  checks: { title: 'Checks', failing: 'failing', warning: 'warning', ok: 'ok' },

  history: {
    title: 'Last 90 days',
    note: 'Days are in UTC. Each minute is checked once.',
    uptime: 'Payments could settle',
    uptimeLabel: 'Uptime by day',
    nothing: 'Nothing is recorded yet.',
    up: (share: string) => `Up ${share} of the time`,
    upSince: (share: string, day: string) => `Up ${share} of the time since ${day}`,
    legend: { up: 'settling', degraded: 'degraded', down: 'down', silent: 'no data' },
    dayWithout: (day: string) => `${day}: no data`,
    day: (day: string, share: string, degraded: number, down: number, silent: number) =>
      `${day}: ${share} up, ${minutes(degraded)} degraded, ${minutes(down)} down, ${minutes(silent)} without data`,
    settleTime: 'Settle time',
    settleTimeLabel: 'Settle time by day',
    settleTimeText:
      'From the request to the answer. The dark part holds half of the payments, the whole bar 95%.',
    noPayments: (day: string) => `${day}: no payments`,
    times: (day: string, half: string, most: string) =>
      `${day}: half within ${half}, 95% within ${most}`,
  },

  incidents: {
    title: 'Incidents',
    none: 'No incident is recorded.',
    all: (count: number) => `Show all ${count}`,
    kinds: { degraded: 'Degraded', down: 'Down', silent: 'No data' },
    open: (start: string) => `${start}, not over yet`,
    over: (start: string, span: string) => `${start}, for ${span}`,
  },
} as const
