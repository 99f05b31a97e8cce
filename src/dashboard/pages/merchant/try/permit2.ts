import type { Address, Hex, TypedDataDefinition } from 'viem'
import { permit2Contracts } from '../../../../x402/address.js'
import { isObject, memberOf } from '../../../../x402/json.js'
import type { Permit2Service, ShownTerms, Way } from './terms.js'
import { words } from './words.js'

/*
 * Payments by Permit2: what a wallet has approved, and the messages that it signs.
 */

const { permit2, exactProxy, uptoProxy } = permit2Contracts

/** Signs the messages of one payment. */
export interface Payer {
  address: Address
  sign(typedData: TypedDataDefinition): Promise<Hex>
  /** Reads a contract of the chain (`eth_call`). */
  read(to: Address, data: Hex): Promise<Hex>
  /** Sends a transaction, which takes gas; absent where the payer cannot. */
  send?(to: Address, data: Hex): Promise<Hex>
}

/** The extension by which a seller takes a signed permit of the token instead of an approval. */
const GAS_SPONSORING = 'eip2612GasSponsoring'

/** A way to pay, and what a wallet without an approval of Permit2 has to do before. */
export interface Plan {
  way: Way
  /** `permit`: sign one of the token, with this nonce of the token. `approval`: send a transaction. */
  first?: { kind: 'permit'; nonce: bigint } | { kind: 'approval' }
}

/**
 * Returns the first way that needs nothing but the payment's own signature or a permit, or else an approval that the wallet
 * can send. Otherwise it says why the wallet cannot pay.
 */
export async function planPayment(
  ways: readonly Way[],
  payer: Payer,
  required: Record<string, unknown>,
  { asset }: Pick<ShownTerms, 'asset'>,
  service: Permit2Service | undefined,
): Promise<{ ok: true; plan: Plan } | { ok: false; why: string }> {
  const isTaken = isObject(memberOf(required.extensions, GAS_SPONSORING))
  const isPermitTaken = isTaken && service?.isSponsoring === true
  let approval: Plan | undefined
  try {
    for (const way of ways) {
      if (way.by === 'eip3009') return { ok: true, plan: { way } }
      const allowed = await readAllowance(payer, asset.address)
      if (allowed >= BigInt(way.offer.amount)) return { ok: true, plan: { way } }
      if (isPermitTaken) {
        const nonce = await readPermitNonce(payer, asset.address)
        return { ok: true, plan: { way, first: { kind: 'permit', nonce } } }
      }
      approval ??= { way, first: { kind: 'approval' } }
    }
  } catch {
    const plain = ways.find(({ by }) => by === 'eip3009')
    return plain ? { ok: true, plan: { way: plain } } : { ok: false, why: words.allowanceUnread }
  }
  return approval !== undefined && payer.send !== undefined
    ? { ok: true, plan: approval }
    : { ok: false, why: words.needsApproval(asset.symbol, permit2) }
}

const ALLOWANCE = '0xdd62ed3e'
const NONCES = '0x7ecebe00'
const APPROVE = '0x095ea7b3'

const word = (value: string | bigint) =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, '0')

/** Returns how much of a token Permit2 may take from the payer. */
async function readAllowance({ address, read }: Payer, token: string): Promise<bigint> {
  return numberOf(await read(token as Address, `${ALLOWANCE}${word(address)}${word(permit2)}`))
}

/** Returns the number that the payer's next permit of the token has to name. */
async function readPermitNonce({ address, read }: Payer, token: string): Promise<bigint> {
  return numberOf(await read(token as Address, `${NONCES}${word(address)}`))
}

function numberOf(answer: Hex): bigint {
  if (!/^0x[0-9a-f]{64}$/i.test(answer)) throw new Error(words.badAnswer)
  return BigInt(answer)
}

const APPROVAL_MS = 120_000
const ASK_MS = 1_000

/** Has the wallet approve Permit2 for this amount and no more, and waits until the chain knows. */
export async function approvePermit2(payer: Payer, token: string, amount: bigint): Promise<void> {
  if (payer.send === undefined) throw new Error(words.approvalUnseen)
  const until = Date.now() + APPROVAL_MS
  await payer.send(token as Address, `${APPROVE}${word(permit2)}${word(amount)}`)
  while (Date.now() < until) {
    const allowed = await readAllowance(payer, token).catch(() => 0n)
    if (allowed >= amount) return
    await new Promise((resolve) => setTimeout(resolve, ASK_MS))
  }
  throw new Error(words.approvalUnseen)
}

/** The members that a payment by Permit2 is signed over; times are in seconds. */
export interface Permit2Message {
  way: Way
  payer: Address
  shown: ShownTerms
  nonce: Hex
  validAfter: bigint
  deadline: bigint
}

const addressField = (name: string) => ({ name, type: 'address' })
const numberField = (name: string) => ({ name, type: 'uint256' })

/** Returns the typed data of a payment by Permit2 through the proxies of x402, and its members on the wire. */
export function permit2Message({ way, payer, shown, nonce, validAfter, deadline }: Permit2Message) {
  const { facilitator, offer } = way
  const to = shown.payTo as Address
  const token = shown.asset.address as Address
  const spender = facilitator === undefined ? exactProxy : uptoProxy
  const named = facilitator === undefined ? {} : { facilitator: facilitator as Address }
  const typedData: TypedDataDefinition = {
    domain: { name: 'Permit2', chainId: chainIdOf(shown), verifyingContract: permit2 },
    types: {
      PermitWitnessTransferFrom: [
        { name: 'permitted', type: 'TokenPermissions' },
        addressField('spender'),
        numberField('nonce'),
        numberField('deadline'),
        { name: 'witness', type: 'Witness' },
      ],
      TokenPermissions: [addressField('token'), numberField('amount')],
      Witness: [
        addressField('to'),
        ...(facilitator === undefined ? [] : [addressField('facilitator')]),
        numberField('validAfter'),
      ],
    },
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token, amount: BigInt(offer.amount) },
      spender,
      nonce: BigInt(nonce),
      deadline,
      witness: { to, ...named, validAfter },
    },
  }
  const permit2Authorization = {
    from: payer,
    permitted: { token, amount: offer.amount },
    spender,
    nonce: `${BigInt(nonce)}`,
    deadline: `${deadline}`,
    witness: { to, ...named, validAfter: `${validAfter}` },
  }
  return { typedData, permit2Authorization }
}

/**
 * Has the payer sign a permit (EIP-2612): Permit2 may take this amount of the token and no more. Returns the extensions of
 * the 402 with the permit in its place.
 */
export async function signPermit(
  payer: Payer,
  shown: ShownTerms,
  { amount, nonce, deadline }: { amount: string; nonce: bigint; deadline: bigint },
  extensions: unknown,
): Promise<Record<string, unknown>> {
  const asset = shown.asset.address
  const signature = await payer.sign({
    domain: tokenDomain(shown),
    types: {
      Permit: [
        addressField('owner'),
        addressField('spender'),
        numberField('value'),
        numberField('nonce'),
        numberField('deadline'),
      ],
    },
    primaryType: 'Permit',
    message: { owner: payer.address, spender: permit2, value: BigInt(amount), nonce, deadline },
  })
  const info = {
    from: payer.address,
    asset,
    spender: permit2,
    amount,
    nonce: `${nonce}`,
    deadline: `${deadline}`,
    signature,
    version: '1',
  }
  const declared = isObject(extensions) ? extensions : {}
  const own = isObject(declared[GAS_SPONSORING]) ? declared[GAS_SPONSORING] : {}
  const declaredInfo = isObject(own.info) ? own.info : {}
  return { ...declared, [GAS_SPONSORING]: { ...own, info: { ...declaredInfo, ...info } } }
}

function chainIdOf({ network }: Pick<ShownTerms, 'network'>): number {
  return Number(network.split(':')[1])
}

/** Returns the domain of the messages that the token itself checks. */
export function tokenDomain(shown: ShownTerms): TypedDataDefinition['domain'] {
  const { name, version, address } = shown.asset
  return { name, version, chainId: chainIdOf(shown), verifyingContract: address as Address }
}
