/** The texts that are the same on every page: of amounts, times, the state of the service, and its silence. */
export const words = {
  money: {
    unknownToken: (amount: string) => `${amount} of an unknown token`,
    otherCurrency: (currency: string | null, sign: string) =>
      `The price is in ${currency ?? 'another token'}, and ${sign} stands for other money. Choose another token, or leave the sign out.`,
    ambiguous:
      'The comma may separate thousands or decimals. Write 1000 for a thousand, 1.00 for one.',
    commas:
      'Use one comma or one point before the decimals, and nothing between thousands: 0.01, 1200.50.',
    bad: 'Give a price above zero with at most six decimals, such as 0.01.',
  },

  time: { justNow: 'just now', long: 'over 10 years' },

  silent: (seconds: number) => `Arcus did not answer within ${seconds} seconds.`,

  standing: {
    down: 'Payments cannot settle at this moment',
    degraded: (working: number, all: number) =>
      `Degraded: ${working} of ${all} relayer wallets can send`,
    degradedOn: (working: number, all: number, network: string) =>
      `Degraded: ${working} of ${all} relayer wallets can send on ${network}`,
    warning: 'Payments settle, with a warning',
    up: 'Payments settle',
  },
} as const
