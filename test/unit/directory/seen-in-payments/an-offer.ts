import type { OfferingPayment } from '../../../../src/directory/seen-in-payments/offer.js'
import { aRequirement as anyRequirement } from '../../../support/directory/a-402.js'
import { asset, payTo } from '../../../support/directory/listed-merchants.js'

export const id = `payto-${payTo}`
export const url = 'https://api.example.com/v1/weather'

export const getInfo = {
  input: { type: 'http', method: 'GET', queryParams: { city: 'Lisbon' } },
  output: { type: 'json', example: { celsius: 21 } },
}

export const querySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
}

export const getSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    input: {
      type: 'object',
      properties: {
        type: { type: 'string', const: 'http' },
        method: { type: 'string', enum: ['GET'] },
        queryParams: querySchema,
      },
      required: ['type', 'method'],
      additionalProperties: false,
    },
    output: { type: 'object' },
  },
  required: ['input'],
}

export const aRequirement = (over: Record<string, unknown> = {}) =>
  anyRequirement({ payTo, ...over })

interface Wish {
  settled?: Partial<OfferingPayment>
  requirement?: Record<string, unknown>
  accepted?: Record<string, unknown>
  bazaar?: Record<string, unknown>
  resource?: Record<string, unknown>
}

let settlements = 0

/** A settled payment whose payload carries an extension as a server declares it; each test states what it changes. */
export function aSettledPayment(wish: Wish = {}): OfferingPayment {
  const requirement = aRequirement(wish.requirement)
  return {
    network: requirement.network,
    asset,
    payTo: requirement.payTo.toLowerCase() as OfferingPayment['payTo'],
    payer: '0x7777777777777777777777777777777777777777',
    amount: BigInt(requirement.amount),
    requirements: requirement,
    payload: {
      x402Version: 2,
      accepted: { ...requirement, ...wish.accepted },
      resource: { url: `${url}?city=Porto`, description: 'By city', ...wish.resource },
      extensions: { bazaar: { info: getInfo, schema: getSchema, ...wish.bazaar } },
    },
    settlementId: `settlement-${++settlements}`,
    ...wish.settled,
  }
}
