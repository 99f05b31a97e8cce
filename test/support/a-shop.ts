import { devnetMerchant } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { startServer } from './a-server.js'
import type { Answer } from './arcus.js'
import { withResolvers } from './with-resolvers.js'

/** A seller who can ask for another price at any moment, and who delivers when a payment has settled. */
export interface Shop {
  url: string
  /** Sets the amounts that its 402 asks for from now on: one requirement each, in this order. */
  ask(...amounts: string[]): void
  /** Sets members over those of its one requirement from now on. */
  demand(requirement: Record<string, unknown>): void
  /** Closed, it answers nobody. */
  isOpen: boolean
  /** How many of the next paid calls it settles and then leaves without an answer. */
  hangsUp: number
  /** Makes the next paid call wait before it is settled. Returns the function that releases it. */
  holdNext(): () => void
  /** The payments that were sent to it, settled or not. */
  presented: string[]
  stop(): Promise<void>
}

type Post = (path: string, body: unknown) => Promise<Answer>

/** Starts a shop that sells for dollars, or for the token that is given. */
export async function startShop(
  post: Post,
  token = { asset: devnetContracts.usdc as string, name: 'USDC' },
): Promise<Shop> {
  let asked = ['10000']
  let demanded = {}
  let held: Promise<void> | undefined
  const presented: string[] = []
  const server = await startServer(async (request, response) => {
    if (!shop.isOpen) return void response.writeHead(503).end()
    const accepts = asked.map((amount) => ({ ...requirement(amount, token), ...demanded }))
    const payment = request.headers['payment-signature']
    if (typeof payment !== 'string') {
      const required = { x402Version: 2, resource: { url: 'x' }, accepts }
      return void response
        .writeHead(402, { 'payment-required': base64(JSON.stringify(required)) })
        .end()
    }
    presented.push(payment)
    const paymentPayload = JSON.parse(Buffer.from(payment, 'base64').toString())
    const { accepted } = paymentPayload
    const wait = held
    held = undefined
    await wait
    const settle = { x402Version: 2, paymentPayload, paymentRequirements: accepted }
    const { body } = await post('/settle', settle)
    if (shop.hangsUp > 0) {
      shop.hangsUp--
      return void request.socket.destroy()
    }
    response.writeHead(body.success ? 200 : 402, {
      'payment-response': base64(JSON.stringify(body)),
    })
    response.end(JSON.stringify({ goods: body.success, for: request.url }))
  })
  const shop: Shop = {
    isOpen: true,
    hangsUp: 0,
    url: server.url,
    ask: (...amounts) => {
      asked = amounts
      demanded = {}
    },
    demand: (requirement) => {
      demanded = requirement
    },
    holdNext() {
      const { promise, resolve } = withResolvers()
      held = promise
      return resolve
    },
    presented,
    stop: server.close,
  }
  return shop
}

function requirement(amount: string, { asset, name }: { asset: string; name: string }) {
  return {
    scheme: 'exact',
    network: 'eip155:5042',
    amount,
    asset,
    payTo: devnetMerchant.address,
    maxTimeoutSeconds: 60,
    extra: { name, version: '2' },
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
