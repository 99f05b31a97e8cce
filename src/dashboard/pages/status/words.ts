import { counted, exactCount } from '../../format/amounts.js'

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
} as const
