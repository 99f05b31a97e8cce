import type { z } from 'zod'
import { merchantView } from '../../api/listings.js'
import type { Operation } from '../../http/operation.js'
import { listingBody } from '../listing-body.js'
import { confirmation, link, nothing, offer } from '../small-bodies.js'
import { writeCodes } from '../write-codes.js'
import { writeEnvelope } from '../write-envelope.js'
import { exampleWrite } from './examples.js'
import { ofMerchant } from './read-operations.js'

const tag = 'Directory'

/** A signed write: its codes are those of the table, and each is checked in the order of what it costs. */
function write(
  id: string,
  summary: string,
  body: z.ZodType,
  more: Partial<Operation> = {},
): Operation {
  return {
    id,
    tag,
    summary,
    description:
      'An EIP-712 message signed by the wallet of the owner. `GET /api/signing` says how; the deadline is minutes ahead, so the example is too old for a success.',
    params: ofMerchant,
    body: writeEnvelope.extend({ body }),
    answers: { 200: { description: 'The listing as it is now.', schema: merchantView } },
    codes: Object.values(writeCodes),
    ...more,
  }
}

export const saveOperation = write('saveMerchant', 'Create or replace a listing', listingBody, {
  answers: {
    200: { description: 'Replaced.', schema: merchantView },
    201: { description: 'Created.', schema: merchantView },
  },
  examples: { expired: exampleWrite('listing.create') },
})

export const deleteOperation = write('deleteMerchant', 'Delete a listing', nothing, {
  examples: { expired: exampleWrite('listing.delete') },
})

export const offerOperation = write('offerMerchant', 'Offer a listing to another owner', offer, {
  examples: { expired: exampleWrite('owner.offer') },
})

export const acceptOperation = write('acceptMerchant', 'Take over an offered listing', nothing, {
  examples: { expired: exampleWrite('owner.accept') },
})

export const confirmOperation = write(
  'confirmPayTo',
  'Say, as the key a listing pays, who its owner is',
  confirmation,
  { examples: { expired: exampleWrite('payto.confirm') } },
)

export const linkOperation = write('linkAgent', 'Say which ERC-8004 agent the merchant is', link, {
  examples: { expired: exampleWrite('agent.link') },
})
