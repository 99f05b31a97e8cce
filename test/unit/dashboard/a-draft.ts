import {
  type EndpointDraft,
  emptyEndpoint,
  type ListingDraft,
} from '../../../src/dashboard/pages/console/editor/draft.js'
import { circleTokens, type Stablecoin } from '../../../src/x402/currencies.js'

export const merchantAddress = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'

const [dollars, inEuros] = circleTokens['eip155:5042']
export const euros = inEuros as Stablecoin
export const tokens = [dollars, euros]

export function anEndpointDraft(wish: Partial<EndpointDraft> = {}): EndpointDraft {
  return {
    ...emptyEndpoint(),
    url: 'https://api.example.com/quote',
    title: 'A quote',
    price: '0.01',
    ...wish,
  }
}

export function aDraft(wish: Partial<ListingDraft> = {}): ListingDraft {
  return {
    id: 'penny-quotes',
    name: 'Penny quotes',
    description: '',
    payTo: merchantAddress,
    endpoints: [anEndpointDraft()],
    ...wish,
  }
}
