import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { BatchWatch } from '../chain/batch-watch.js'
import type { Config, HostedConfig } from '../config/config.js'
import { createLocalClient, type LocalClientOptions } from '../facilitator/local-client.js'
import type { PaymentFinder } from '../facilitator/payments.js'
import { createChannelStorage, dropReservations } from '../hosted/channel-storage.js'
import { mountEndpoints, type ReadFees } from '../hosted/endpoints.js'
import { type Look, listHosted, unlistHosted } from '../hosted/listing.js'
import { openRefundRecords } from '../hosted/refund-records.js'
import { createChannels } from '../merchant/channels.js'
import type { Refund } from '../merchant/refund-ledger.js'
import { proofOf, type RefundTransfer } from '../merchant/refund-transfer.js'
import { createRefunds } from '../merchant/refunds.js'
import { x402 } from '../merchant/x402.js'
import type { HostedRecords } from '../store/hosted-records.js'
import type { ListingStore } from '../store/listings.js'
import type { Network } from '../x402/networks.js'

/** What the operator sells himself, built and not yet started. */
export interface ComposedHosted {
  /** Its routes, as a plugin; `undefined` when nothing is hosted. */
  routes: ((app: FastifyInstance) => Promise<void>) | undefined
  /** Once payments are served. Lists what is hosted, or takes it off. */
  start(): Promise<void>
  /** Before the facilitator stops. */
  close(): Promise<void>
}

export interface HostedWorld extends Omit<LocalClientOptions, 'started'> {
  config: Config
  hostedPrivateKey: Hex | undefined
  records: HostedRecords
  listings: ListingStore
  look: Look
  findPayment: PaymentFinder['byNonce']
  network: Network
  asset: Address
  /** Whether channels can be offered: the contracts stand, of which each change is told. */
  batchContracts: Pick<BatchWatch, 'isDeployed' | 'onChange'>
  readFees: ReadFees
  /** Whether other processes sell the same from the same database, and whether this one does what one does for all. */
  isShared: boolean
  isKeeper(): boolean
  log: Logger
}

/** Builds the operator's own merchant: the plugin of strangers, over this very facilitator. */
export async function composeHosted(world: HostedWorld): Promise<ComposedHosted> {
  const { config, hostedPrivateKey, listings } = world
  const now = () => Math.floor(Date.now() / 1000)
  if (config.hosted === undefined || hostedPrivateKey === undefined) {
    return {
      routes: undefined,
      start: () => unlistHosted(listings, now),
      close: async () => {},
    }
  }
  const { payTo } = config.hosted
  const { network, asset, look } = world
  const log = world.log.child({ room: 'hosted' })
  const { refunds, channels, facilitator, begin, giveUp } = await openTill(
    world,
    config.hosted,
    hostedPrivateKey,
    log,
  )
  const list = () =>
    listHosted({
      store: listings,
      look,
      baseUrl: config.baseUrl,
      network,
      asset,
      payTo,
      now,
    })
  return {
    async routes(app) {
      const { baseUrl } = config
      await app.register(x402, {
        facilitator,
        payTo,
        network,
        baseUrl,
        refunds,
        channels,
        serviceName: 'Arcus',
      })
      mountEndpoints(app, world.readFees)
    },
    async start() {
      begin()
      // What was left behind waits for no schedule.
      void channels.run()
      void refunds.run()
      // What the endpoints ask for changes with the contracts, and the catalog says so.
      world.batchContracts.onChange(() => {
        void channels.run()
        list().catch((err) => log.error({ err }, 'hosted endpoints could not be listed anew'))
      })
      await list()
    },
    async close() {
      giveUp()
      await channels.close()
      await refunds.close()
    },
  }
}

/** The wallet that gives back what hosted endpoints did not use, with the address whose payments it gives back of. */
export function hostedRefundWallets(
  { hosted }: Pick<Config, 'hosted'>,
  key: Hex | undefined,
): Map<Address, Address> {
  if (hosted === undefined || key === undefined) return new Map()
  const lower = (address: Address) => address.toLowerCase() as Address
  return new Map([[lower(privateKeyToAccount(key).address), lower(hosted.payTo)]])
}

/** Where the money of hosted endpoints is counted. */
async function openTill(world: HostedWorld, hosted: HostedConfig, key: Hex, log: Logger) {
  const { records, findPayment, network, isShared, isKeeper } = world
  const { payTo, claimSeconds } = hosted
  let begin = () => {}
  let giveUp = () => {}
  const started = new Promise<void>((resolve, reject) => {
    begin = resolve
    giveUp = () => reject(new Error('The service stopped before it had started.'))
  })
  // Whoever waits for it hears; nobody may be waiting.
  started.catch(() => undefined)
  const facilitator = createLocalClient({ ...world, started })
  const signer = privateKeyToAccount(key)
  const refunds = await createRefunds({
    facilitator,
    signer,
    payTo,
    ledger: openRefundRecords(records, isKeeper),
    wasSettled: (refund) => wasSettled(refund, findPayment),
    findTransfer: (transfer) => findTransfer(transfer, findPayment),
    log,
  })
  const isOffered = world.batchContracts.isDeployed
  if (!isOffered()) {
    log.warn(
      'the contracts of batch-settlement do not stand here; hosted endpoints offer exact only',
    )
  }
  const storage = createChannelStorage(records)
  // Another process may be answering the call that holds one: the reservations of a dead one lapse by themselves.
  if (!isShared) await dropReservations(storage)
  const channels = createChannels({
    facilitator,
    payTo,
    signer,
    storage,
    network,
    claimSeconds,
    isOffered,
    isTurn: isKeeper,
    log,
  })
  return { refunds, channels, facilitator, begin, giveUp }
}

async function wasSettled(
  { network, payer, paymentNonce }: Refund,
  findPayment: PaymentFinder['byNonce'],
): Promise<boolean | undefined> {
  const key = [payer, paymentNonce].map((text) => text.toLowerCase()) as [Address, Hex]
  const payment = await findPayment(network, ...key)
  if (payment === undefined || payment.state === 'failed') return false
  return payment.state === 'confirmed' ? true : undefined
}

async function findTransfer(
  transfer: RefundTransfer,
  findPayment: PaymentFinder['byNonce'],
): Promise<string | undefined> {
  const { network, from, nonce } = transfer
  const payment = await findPayment(network, from.toLowerCase() as Address, nonce as Hex)
  return payment && proofOf(transfer, payment)
}
