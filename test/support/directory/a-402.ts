import type { ServerResponse } from 'node:http'
import { circleTokens } from '@arcus/protocol/x402/currencies'
import type { Address } from 'viem'

export const network = 'eip155:5042'
export const payTo: Address = '0x3333333333333333333333333333333333333333'
export const tokens = circleTokens[network]
export const [asset] = tokens

export const aRequirement = (over: Record<string, unknown> = {}) => ({
  scheme: 'exact',
  network,
  amount: '10000',
  asset: asset.address,
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
  ...over,
})

/** What Circle Gateway signs for, in place of the token. */
export const gatewayExtra = {
  name: 'GatewayWalletBatched',
  version: '1',
  verifyingContract: '0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE',
}

/** The same token, recipient and amount, paid through Circle Gateway. */
export const aGatewayRequirement = (over: Record<string, unknown> = {}) =>
  aRequirement({ maxTimeoutSeconds: 604_900, extra: gatewayExtra, ...over })

export const bazaar = {
  info: { input: { type: 'http', method: 'GET', queryParams: { city: 'Lisbon' } } },
  schema: {
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: {
          queryParams: {
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
          },
        },
      },
    },
  },
}

export const aPaymentRequired = (over: Record<string, unknown> = {}) => ({
  x402Version: 2,
  resource: { url: 'https://api.example.com/weather' },
  accepts: [aRequirement()],
  ...over,
})

export const toHeader = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

/** Answers 402 as a merchant's server does. */
export function ask(response: ServerResponse, over: Record<string, unknown> = {}, body = '{}') {
  response.writeHead(402, { 'payment-required': toHeader(aPaymentRequired(over)) })
  response.end(body)
}
