import type { Example } from '../../http/openapi/operation.js'
import type { ListingAction } from '../../listing-client/listing-write.js'

const owner = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'

const bodies: Record<ListingAction, unknown> = {
  'listing.create': {
    name: 'Penny quotes',
    description: 'A quote for a cent.',
    payTo: owner,
    endpoints: [
      {
        url: 'https://api.example.com/quote',
        method: 'GET',
        title: 'A quote',
        price: '10000',
        example: { queryParams: { topic: 'money' } },
      },
    ],
  },
  'listing.update': {},
  'listing.delete': {},
  'owner.offer': { to: '0x90F79bf6EB2c4f870365E785982E1f101E93b906' },
  'owner.accept': {},
  'agent.link': { agentId: '7' },
  'payto.confirm': { owner },
}

/** A write of the right form; its signature is none and its deadline long past. */
export function exampleWrite(action: ListingAction): Example {
  return {
    summary: 'Signed in January 2026',
    params: { id: 'penny-quotes' },
    body: {
      message: {
        action,
        audience: 'http://localhost:4021',
        merchantId: 'penny-quotes',
        owner,
        payTo: owner,
        bodyHash: `0x${'b0'.repeat(32)}`,
        revision: 1,
        nonce: `0x${'0e'.repeat(32)}`,
        issuedAt: 1_767_225_600,
        deadline: 1_767_226_200,
      },
      signature: `0x${'51'.repeat(65)}`,
      body: bodies[action],
    },
    status: 400,
    answer: { error: 'write_expired', message: 'message.deadline passed 86400 seconds ago.' },
  }
}
