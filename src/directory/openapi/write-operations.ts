import type { z } from 'zod'
import type { Operation } from '../../http/openapi/operation.js'
import { listingBody } from '../../listing-client/listing.js'
import { ofMerchant, writeCodes } from '../listings/faults.js'
import {
  confirmationBody,
  emptyBody,
  linkBody,
  offerBody,
  writeEnvelope,
} from '../listings/signed-write.js'
import { exampleWrite } from './examples.js'
import { merchantView } from './listing-schemas.js'

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

export const deleteOperation = write('deleteMerchant', 'Delete a listing', emptyBody, {
  examples: { expired: exampleWrite('listing.delete') },
})

export const offerOperation = write(
  'offerMerchant',
  'Offer a listing to another owner',
  offerBody,
  {
    examples: { expired: exampleWrite('owner.offer') },
  },
)

export const acceptOperation = write('acceptMerchant', 'Accept an offered listing', emptyBody, {
  examples: { expired: exampleWrite('owner.accept') },
})

export const confirmOperation = write(
  'confirmPayTo',
  'Confirm the owner of a listing with the key that is paid',
  confirmationBody,
  { examples: { expired: exampleWrite('payto.confirm') } },
)

export const linkOperation = write(
  'linkAgent',
  'Link the merchant to an ERC-8004 agent',
  linkBody,
  {
    examples: { expired: exampleWrite('agent.link') },
  },
)
