/**
 * A Fastify server that sells two routes, settled by Arcus.
 *
 * With `npm run dev` in another terminal:
 *
 *   npx tsx examples/fastify-merchant.ts
 *   npx tsx examples/buyer.ts "http://localhost:4023/weather?city=Lisbon"
 *
 * FACILITATOR_URL, PAY_TO and PORT set the facilitator, the address that is paid and the port.
 */
import { Readable } from 'node:stream'
import { x402 } from '@arcus/merchant'
import fastify from 'fastify'

const app = fastify()

await app.register(x402, {
  facilitator: process.env.FACILITATOR_URL ?? 'http://localhost:4021',
  // The merchant of the devnet. Set an address of your own: the money goes straight there.
  payTo: process.env.PAY_TO ?? '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
})

// A route needs only a price. Its schema shows catalogs and agents how to call it.
const querystring = {
  type: 'object',
  properties: { city: { type: 'string', examples: ['Lisbon'] } },
  required: ['city'],
} as const

app.get<{ Querystring: { city: string } }>(
  '/weather',
  {
    config: { x402: { price: '$0.01', description: 'The weather of a city, made up.' } },
    schema: { querystring },
  },
  // The handler runs after the payment is verified. The payment settles when the handler has succeeded.
  async ({ query, payment }) => ({ city: query.city, degrees: 21, paidBy: payment?.payer }),
)

// The payment of a stream settles when its first bytes are there. Then the stream is passed on.
app.get(
  '/story',
  { config: { x402: { price: '$0.002', streaming: 'settle-first' } } },
  async (_, reply) => reply.type('text/plain').send(Readable.from(story())),
)

async function* story() {
  for (const word of 'Once upon a time there was a cent.'.split(' ')) {
    yield `${word} `
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

app.get('/', async () => ({ paid: ['GET /weather?city=', 'GET /story'] }))

const url = await app.listen({ port: Number(process.env.PORT ?? 4023) })
process.stdout.write(`Selling at ${url}/weather?city=Lisbon\n`)
