import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Address } from 'viem'
import type { ListingAction, ListingWriteJson } from '../listing-client/listing-write.js'
import type { ListingReader, Merchant, SignedWrite } from '../store/listings.js'
import type { Keccak256 } from '../x402/keccak.js'
import { checkBodyHash } from './body-hash.js'
import { listingLimits as limits } from './listing-limits.js'
import { quote } from './listing-text.js'
import { missingFault } from './merchant-fault.js'
import { WriteFault } from './write-codes.js'
import { parseEnvelope } from './write-envelope.js'
import { chainFault, type SignatureCheck } from './write-signature.js'

/** A write whose message, body, owner, revision and signature are right; the store judges the last again. */
export interface CheckedWrite<Body> {
  write: Omit<SignedWrite, 'acceptedAt'>
  body: Body
  /** As it was found; `undefined` for a new one. */
  merchant: Merchant | undefined
}

export interface WriteCheckOptions {
  listings: Pick<ListingReader, 'findMerchant' | 'historyOf'>
  /** Origin of the directory. */
  audience: string
  chainId: number
  checkSignature: SignatureCheck
  keccak256: Keccak256
  /** Unix milliseconds. */
  now: () => number
}

export interface ExpectedWrite<Body> {
  merchantId: string
  /** Of the route: the one for a merchant without a listing, then the one for a listing that stands. */
  actions: { fresh?: ListingAction; standing: ListingAction }
  /** Throws a `WriteFault`. */
  parseBody: (body: unknown) => Body
  /** Who is paid once the write is accepted; the present one unless said. */
  payToOf?: (body: Body) => Address
}

export type WriteCheck = <Body>(
  request: unknown,
  expected: ExpectedWrite<Body>,
) => Promise<CheckedWrite<Body>>

/**
 * Judges a signed write in the order of what it costs: shape, audience and chain, clock, body, owner and revision,
 * signature. Throws a `WriteFault` with the code of what is wrong first; the clock is that of the call.
 */
export function createWriteCheck(options: WriteCheckOptions): WriteCheck {
  const { listings, audience, chainId, checkSignature, keccak256, now } = options

  return async (request, expected) => {
    const receivedAt = Math.floor(now() / 1000)
    const envelope = parseEnvelope(request)
    const { message, signature } = envelope
    const body = expected.parseBody(envelope.body)
    checkAddressee(message, expected)
    if (message.audience !== audience) {
      const text = `message.audience ${quote(message.audience)} is not ${audience}, which this directory is.`
      throw new WriteFault('wrongAudience', text)
    }
    if (envelope.chainId !== undefined && envelope.chainId !== chainId) throw chainFault(chainId)
    checkClock(message, receivedAt)
    // Parsing and hashing the largest listing take some milliseconds each: others come in between.
    await nextTurn()
    const canonicalBody = checkBodyHash(envelope.body, message.bodyHash, keccak256)
    const merchant = await listings.findMerchant(expected.merchantId)
    await checkStanding(listings, message, merchant, { ...expected, receivedAt })
    checkPayTo(message, expected.payToOf?.(body) ?? merchant?.payTo)
    await checkSignature(message, signature)
    return {
      body,
      merchant,
      write: {
        merchantId: message.merchantId,
        revision: message.revision,
        owner: message.owner,
        nonce: message.nonce,
        action: message.action,
        message: JSON.stringify(message),
        body: canonicalBody,
        signature,
      },
    }
  }
}

function checkAddressee(
  { action, merchantId }: ListingWriteJson,
  { actions, merchantId: addressed }: Pick<ExpectedWrite<unknown>, 'actions' | 'merchantId'>,
): void {
  if (action !== actions.standing && action !== actions.fresh) {
    const wanted = [actions.fresh, actions.standing].filter(Boolean).join(' or ')
    throw new WriteFault('wrongAction', `message.action is ${action}; this route takes ${wanted}.`)
  }
  if (merchantId !== addressed) {
    const text = `message.merchantId ${quote(merchantId)} is not the merchant of the path.`
    throw new WriteFault('wrongMerchant', text)
  }
}

function checkClock({ issuedAt, deadline }: ListingWriteJson, now: number): void {
  const { skewSeconds } = limits.issuedAt
  const { maxAheadSeconds } = limits.deadline
  if (issuedAt > now + skewSeconds) {
    const text = `message.issuedAt is ${issuedAt - now} seconds ahead; ${skewSeconds} are allowed.`
    throw new WriteFault('issuedInFuture', text)
  }
  if (deadline <= now) {
    throw new WriteFault('writeExpired', `message.deadline passed ${now - deadline} seconds ago.`)
  }
  if (deadline <= issuedAt) {
    throw new WriteFault('deadlineTooFar', 'message.deadline must be after message.issuedAt.')
  }
  // Counted from both ends: what was signed long ago for now is as suspicious as what lasts long from now.
  if (deadline > now + maxAheadSeconds || deadline > issuedAt + maxAheadSeconds + skewSeconds) {
    const text = `message.deadline must be at most ${maxAheadSeconds} seconds ahead, and after message.issuedAt.`
    throw new WriteFault('deadlineTooFar', text)
  }
}

/** Owner and revision against the row: an early answer, before anything is called. The store asks again. */
async function checkStanding(
  listings: WriteCheckOptions['listings'],
  message: ListingWriteJson,
  merchant: Merchant | undefined,
  { actions, receivedAt }: { actions: ExpectedWrite<unknown>['actions']; receivedAt: number },
): Promise<void> {
  const { owner, nonce, revision, action } = message
  const present = merchant?.revision ?? 0
  if (revision <= present) {
    const [past] = await listings.historyOf(message.merchantId, revision - 1, 1)
    if (past?.owner === owner && past.nonce === nonce) throw replayFault(past)
  }
  if (merchant === undefined || (merchant.deletedAt !== null && actions.fresh === undefined)) {
    if (actions.fresh === undefined) throw missingFault(merchant)
  } else if (action === 'owner.accept') {
    const { offer } = merchant
    if (offer?.to !== owner || offer.until <= receivedAt) throw offerFault()
  } else if (action === 'payto.confirm') {
    if (owner !== merchant.payTo) throw payToFault()
  } else if (owner !== (merchant.owner ?? claimant(merchant, actions))) {
    throw ownerFault(merchant.owner === null)
  }
  if (revision !== present + 1) throw staleFault(present)
  const stands = merchant !== undefined && merchant.deletedAt === null && merchant.owner !== null
  const wanted = stands ? actions.standing : (actions.fresh ?? actions.standing)
  if (action !== wanted) {
    throw new WriteFault('wrongAction', `message.action is ${action}; it must be ${wanted} now.`)
  }
}

/** Who may make an unclaimed merchant its own: the key that is paid, by a save. */
function claimant({ payTo }: Merchant, actions: ExpectedWrite<unknown>['actions']) {
  return actions.fresh === undefined ? undefined : payTo
}

function checkPayTo({ payTo }: ListingWriteJson, expected: Address | undefined): void {
  if (payTo === expected) return
  const text = 'message.payTo must be the payTo that the listing has once the write is accepted.'
  throw new WriteFault('payToMismatch', text)
}

/** `accepted` is what the message became, where it is known: whoever lost the answer is told. */
export function replayFault(accepted?: Pick<SignedWrite, 'revision' | 'acceptedAt'>): WriteFault {
  if (accepted === undefined) {
    return new WriteFault('replayedNonce', 'message.nonce was used before; sign with a fresh one.')
  }
  const { revision, acceptedAt } = accepted
  const text = `The message was accepted before, as revision ${revision}; sign another with a fresh nonce.`
  return new WriteFault('replayedNonce', text, { revision, acceptedAt })
}

export function staleFault(revision: number): WriteFault {
  const text = `message.revision must be ${revision + 1}: the merchant is at revision ${revision}.`
  return new WriteFault('staleRevision', text, { revision })
}

export function ownerFault(isUnclaimed: boolean): WriteFault {
  const text = isUnclaimed
    ? 'Nobody claimed this merchant: only the key of its payTo can, by saving it.'
    : 'message.owner is not the owner of this merchant.'
  return new WriteFault('notOwner', text)
}

export function payToFault(): WriteFault {
  const text = 'Only the address that the merchant is paid at can say who sees what it was paid.'
  return new WriteFault('notPayTo', text)
}

export function offerFault(): WriteFault {
  return new WriteFault('notOffered', 'No open offer of this merchant to message.owner.')
}
