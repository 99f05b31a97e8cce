/** The texts of the components that pages share. */
export const words = {
  copy: {
    action: (name: string) => `Copy ${name}`,
    done: 'Copied',
    refused: 'The browser did not allow copying',
  },
  ranges: { '24h': '24 hours', '7d': '7 days', '30d': '30 days', all: 'All' },
  dialog: { close: 'Close' },
  toast: { region: 'What happened', close: 'Close the message' },
} as const
