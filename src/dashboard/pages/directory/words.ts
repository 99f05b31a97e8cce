import { counted, exactCount } from '../../format/amounts.js'

/** The texts of the directory. */
export const words = {
  title: 'Directory',
  lead: 'Paid APIs by price, use and uptime. Their owners list them, and nobody reviews them.',
  endpoints: 'Endpoints',
  loading: 'Loading the directory',
  all: (count: number) => counted(count, { one: '# endpoint', other: '# endpoints' }, exactCount),
  found: (count: number) =>
    counted(count, { one: '# endpoint found', other: '# endpoints found' }, exactCount),
  best: (count: number) =>
    counted(count, { one: 'the best # endpoint found', other: 'the best # endpoints found' }),
  more: 'Show more',
  moreFailed: 'More could not be loaded',
  merchantOfId: 'The merchant with the id “{id}”: {name}',

  nothingPaid: 'Nothing listed is paid at this address',
  nothingPaidText: 'Payments to an address that is not listed are found by their transaction.',
  findPayment: 'Find a payment from this address',
  nothingFound: 'Nothing matches',
  nothingFoundText:
    'Try fewer words or filters. The search covers titles, tags, providers, descriptions and URLs.',
  clear: 'Clear all filters',
  nothingListed: 'Nothing is listed yet',
  nothingListedText:
    'Any HTTP API that asks for payment with x402 and takes a stablecoin on Arc can be listed with one signature.',
  listFirst: 'List the first API',

  row: {
    by: 'by {merchant}',
    tag: 'Show endpoints with this tag',
    alsoPays: 'Also asks to pay another address',
    checked: 'checked {when}',
  },

  search: 'Search endpoints',
  sort: {
    name: 'Order',
    best: 'Best match first',
    calls: 'Most paid calls',
    payers: 'Most payers',
    lastPaid: 'Paid most recently',
    price: 'Lowest price',
    new: 'Newest first',
  },
  method: { name: 'Method', any: 'Any method', mcp: 'MCP tool' },
  pricing: { name: 'Pricing', any: 'Any pricing', fixed: 'Fixed price', metered: 'Metered' },
  currency: { name: 'Currency', any: 'Any currency', USD: 'Dollars', EUR: 'Euros' },
  price: { name: 'Price', any: 'Any price', upTo: (amount: string) => `up to ${amount}` },
  marks: { verified: 'Live', official: 'Official', hasSchema: 'With input schema' },
  paidAt: 'Paid at {address}',
  tag: 'Tag: {tag}',
  remove: '(remove)',
} as const
