import { x402 } from '@arcus/merchant'
import { createChannels } from '@arcus/merchant/channels'
import { createRefunds, proofOf, type Refund, type RefundTransfer } from '@arcus/merchant/refunds'
import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import type { Stablecoin } from '@arcus/protocol/x402/currencies'
import type { NetworkId } from '@arcus/protocol/x402/networks'
import type { FacilitatorClient } from '@x402/core/server'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { toSeconds } from '../async/time.js'
import type { DeploymentWatch } from '../chain/deployments.js'
import type { ListingStore } from '../directory/store/listings.js'
import { mountEndpoints, type ReadFees } from './endpoints.js'
import { listHosted, type ProbeHosted } from './listing.js'
import {
  createChannelStorage,
  dropReservations,
  type HostedRecords,
  openRefundRecords,
} from './records.js'
import type { HostedSettings } from './refund-wallets.js'

/** The hosted endpoints, built and not yet started. */
export interface Hosted {
  /** `undefined` when nothing is hosted. */
  plugin: ((app: FastifyInstance) => Promise<void>) | undefined
  /** Lists the hosted endpoints, or takes them off the catalog. Called once payments are served. */
  start(): Promise<void>
  /** Called before the facilitator stops. */
  stop(): Promise<void>
}

interface HostedPorts {
  /** The public address of this service. */
  baseUrl: string
  settings: HostedSettings
  /** The key of the wallet that refunds, and that receives from channels. */
  privateKey: Hex
  /** Makes a client of the facilitator, whose calls wait until `started` resolves. */
  client(started: Promise<void>): FacilitatorClient
  records: HostedRecords
  listings: ListingStore
  probe: ProbeHosted
  findPayment: FindPayment
  network: NetworkId
  token: Stablecoin
  /** Returns whether the contracts of batch-settlement are deployed, and reports each change. */
  batchContracts: DeploymentWatch
  /** The same of the contracts of payments by `upto`. */
  uptoContracts: DeploymentWatch
  readFees: ReadFees
  /** `true` where other processes sell the same endpoints from the same database. */
  isShared: boolean
  /** Returns whether this process does the work that one process does for all. */
  isKeeper(): boolean
  log: FastifyBaseLogger
}

/** Finds a payment of the facilitator by its payer and nonce; `undefined` where there is none. */
type FindPayment = (
  network: string,
  payer: Address,
  nonce: Hex,
  which: { asset: Address; method: 'eip3009' | 'permit2' },
) => Promise<PaymentStatus | { queries: string[] } | undefined>

/** The plugin asks every five seconds whether `upto` is settled now, milliseconds. */
const UPTO_NOTICED_MS = 6_000

/** Builds the operator's own merchant: the plugin that every merchant installs, which asks the facilitator by `client`. */
export async function createHosted(world: HostedPorts): Promise<Hosted> {
  const { settings, privateKey, listings } = world
  const now = () => toSeconds(Date.now())
  const { payTo } = settings
  const { baseUrl, network, token, probe } = world
  const log = world.log.child({ module: 'hosted' })
  const { refunds, channels, facilitator, begin, giveUp } = await openPayments(
    world,
    settings,
    privateKey,
    log,
  )
  let listing: NodeJS.Timeout | undefined
  const list = () =>
    listHosted({
      store: listings,
      probe,
      baseUrl,
      network,
      token,
      payTo,
      now,
    })
  return {
    async plugin(app) {
      await app.register(x402, {
        facilitator,
        payTo,
        network,
        baseUrl,
        refunds,
        channels,
        serviceName: 'Arcus',
      })
      mountEndpoints(app, world.readFees, token)
    },
    async start() {
      begin()
      // Claims and refunds of an earlier run start at once, without waiting for the schedule.
      void channels.run()
      void refunds.run()
      // The endpoints offer other schemes once the contracts change, and the catalog must show the same.
      const listAgain = () => {
        list().catch((err) => log.error({ err }, 'hosted endpoints could not be listed again'))
      }
      world.batchContracts.onChange(() => {
        void channels.run()
        listAgain()
      })
      world.uptoContracts.onChange(() => {
        listing = setTimeout(listAgain, UPTO_NOTICED_MS).unref()
      })
      await list()
    },
    async stop() {
      clearTimeout(listing)
      giveUp()
      await channels.close()
      await refunds.close()
    },
  }
}

/** Opens refunds and channels of the hosted endpoints. */
async function openPayments(
  world: HostedPorts,
  hosted: HostedSettings,
  key: Hex,
  log: FastifyBaseLogger,
) {
  const { records, findPayment, network, isShared, isKeeper } = world
  const { payTo, claimSeconds } = hosted
  let begin = () => {}
  let giveUp = () => {}
  const started = new Promise<void>((resolve, reject) => {
    begin = resolve
    giveUp = () => reject(new Error('The service stopped before it had started.'))
  })
  // Errors go to the callers that wait for it. Without any, the rejection is swallowed.
  started.catch(() => undefined)
  const facilitator = world.client(started)
  const signer = privateKeyToAccount(key)
  const refunds = await createRefunds({
    facilitator,
    signer,
    payTo,
    ledger: openRefundRecords(records, isKeeper),
    wasSettled: (refund) => wasSettled(refund, findPayment),
    findTransfer: (transfer) => findTransfer(transfer, findPayment),
    isUnused: (transfer) => isUnused(transfer, findPayment),
    log,
  })
  const isOffered = world.batchContracts.isDeployed
  if (!isOffered()) {
    log.warn(
      'the contracts of batch-settlement are not deployed; hosted endpoints offer exact only',
    )
  }
  const storage = createChannelStorage(records)
  // Another process may be answering the call that holds a reservation. Those of a dead process expire on their own.
  if (!isShared) await dropReservations(storage)
  const channels = createChannels({
    facilitator,
    payTo,
    signer,
    storage,
    network,
    asset: world.token.address,
    claimSeconds,
    isOffered,
    isTurn: isKeeper,
    log,
  })
  return { refunds, channels, facilitator, begin, giveUp }
}

async function wasSettled(
  { network, asset, payer, paymentNonce, method = 'eip3009' }: Refund,
  findPayment: FindPayment,
): Promise<boolean | undefined> {
  const [from, nonce, token] = [payer, paymentNonce, asset].map((text) => text.toLowerCase())
  const which = { asset: token as Address, method }
  const payment = await findPayment(network, from as Address, nonce as Hex, which)
  if (payment !== undefined && 'queries' in payment) return undefined
  if (payment === undefined || payment.state === 'failed') return false
  return payment.state === 'confirmed' ? true : undefined
}

async function findTransfer(
  transfer: RefundTransfer,
  findPayment: FindPayment,
): Promise<string | undefined> {
  const payment = await findRefund(transfer, findPayment)
  return payment && 'state' in payment ? proofOf(transfer, payment) : undefined
}

/** Returns whether nothing was claimed for a refund, or the chain shows it unused after its end. */
async function isUnused(transfer: RefundTransfer, findPayment: FindPayment): Promise<boolean> {
  const payment = await findRefund(transfer, findPayment)
  if (payment === undefined) return true
  return 'unusedAtBlock' in payment && payment.unusedAtBlock !== null
}

function findRefund({ network, from, nonce, asset }: RefundTransfer, findPayment: FindPayment) {
  // A refund is a transfer by EIP-3009 of our own wallet.
  const which = { asset: asset.toLowerCase() as Address, method: 'eip3009' } as const
  return findPayment(network, from.toLowerCase() as Address, nonce as Hex, which)
}
