import {
  createListingClient,
  type ListingClient,
  type ListingSigner,
} from '@arcus/client/listing-client'
import type { Listing } from '@arcus/protocol/listing/listing'
import type { Browser } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { aSignedPayment, type PaymentWish } from '../../support/a-signed-payment.js'
import { type Answer, startWorld, type World } from '../../support/arcus.js'
import { launchChromium } from './chromium.js'
import { type OpenPage, openPage, type PageOptions } from './open-page.js'
import { buyback, type Strangers, startStrangers } from './strangers.js'

/** A devnet with the service, strangers' APIs and a browser. */
export interface BrowserWorld extends World {
  /** The origin at which people open the console: that of the service's own URLs. */
  origin: string
  strangers: Strangers
  browser: Browser
  /** Opens a page that closes at the end of the test. */
  open(options?: PageOptions): Promise<OpenPage>
  /** Makes a client that writes listings, like a script of an owner. */
  client(signer: ListingSigner): ListingClient
  /** Saves a listing with such a client. */
  list(id: string, listing: Partial<Listing>, signer?: ListingSigner): Promise<void>
  /** Makes one payment for this URL, through verify and settle. */
  pay(url: string, wish?: PaymentWish): Promise<Answer>
}

export async function startBrowserWorld(
  env: Record<string, string> = {},
  between?: (chainUrl: string) => Promise<string>,
): Promise<BrowserWorld> {
  const [world, strangers, browser] = await Promise.all([
    startWorld({
      env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true', DEVNET: 'true', BUYBACK_ADDRESS: buyback, ...env },
      tellsWallets: true,
      ...(between === undefined ? {} : { between }),
    }),
    startStrangers(),
    launchChromium(),
  ])
  const origin = world.url.replace('127.0.0.1', 'localhost')
  const client = (signer: ListingSigner) => createListingClient({ directoryUrl: origin, signer })
  const settle = async (url: string, wish: PaymentWish = {}) => {
    const payment = await aSignedPayment(wish)
    Object.assign(payment.paymentPayload, { resource: { url } })
    await world.post('/verify', payment)
    return world.post('/settle', payment)
  }
  return {
    ...world,
    origin,
    strangers,
    browser,
    async open(options) {
      const opened = await openPage(browser, options?.at ?? origin, options)
      onTestFinished(() => opened.close().catch(() => {}))
      return opened
    },
    async list(id, listing, signer = devnetMerchant.account) {
      await client(signer).save(id, aListing(strangers.url, listing))
    },
    client,
    pay: settle,
    async stop() {
      await browser.close()
      await strangers.stop()
      await world.stop()
    },
  }
}

/** A merchant of weather at `/weather`, paid to the devnet's merchant. */
export function aListing(strangersUrl: string, wish: Partial<Listing> = {}): Listing {
  return {
    name: 'Weather house',
    description: 'Skies by the city',
    payTo: devnetMerchant.address,
    endpoints: [
      {
        url: `${strangersUrl}/weather`,
        method: 'GET',
        title: 'Weather',
        price: '10000',
        example: { queryParams: { city: 'Lisbon' } },
      },
    ],
    ...wish,
  }
}
