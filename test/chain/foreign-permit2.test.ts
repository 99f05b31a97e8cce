import { reasons } from '@arcus/protocol/x402/reasons'
import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetContracts, mintUsdc, readArtifact, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { swallowed, unsupported } from '../faults/support/behaviours.js'
import type { RpcProxy } from '../faults/support/rpc-proxy.js'
import {
  aPermit2Payment,
  approvePermit2,
  exactPermit2Call,
  type Permit2Body,
  permit2Invalidation,
  sendAs,
} from '../support/a-permit2-payment.js'
import { type ProxiedWorld, startProxiedWorld } from '../support/a-proxied-world.js'
import { nowSeconds } from '../support/a-signed-payment.js'
import { outbid, sendTogether } from '../support/a-stranger.js'
import { anAccount } from '../support/an-account.js'

const { permit2, exactPermit2Proxy, multicall, usdc } = devnetContracts
const CENT = 10_000n
const invalidNonce = reasons.permit2InvalidNonce.code
const pending = reasons.settlementPending.code
const erc20 = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function transferFrom(address from, address to, uint256 value) returns (bool)',
])

let world: ProxiedWorld
let proxy: RpcProxy
beforeAll(async () => {
  world = await startProxiedWorld({
    RATE_LIMIT_MAX: '0',
    SETTLE_WAIT_SECONDS: '8',
    ATTESTATION_PRIVATE_KEY: `0x${'11'.repeat(32)}`,
  })
  proxy = world.proxy
})
afterAll(() => world.stop())

const settle = (payment: Permit2Body) => world.post('/settle', payment)
const signedBy = ({ paymentPayload }: Permit2Body) => paymentPayload.payload.permit2Authorization
const lookUp = (payment: Permit2Body) => {
  const { from, nonce } = signedBy(payment)
  return world.get(`/payments/eip155:5042/${from}/${nonce}`)
}

/** A payer who holds one cent, of which Permit2 may take all, and an address that was never paid. */
async function aPair() {
  const signer = anAccount()
  await mintUsdc(world.chainUrl, signer.address, CENT)
  await approvePermit2(world.chainUrl, signer.address, 10n ** 12n)
  const parties = {
    scheme: 'exact',
    from: signer.address,
    signer,
    to: anAccount().address,
  } as const
  const paid = () => usdcBalance(world.chainUrl, parties.to)
  const pay = (wish = {}) => aPermit2Payment({ ...parties, ...wish })
  return { ...parties, paid, pay }
}

const cancel = (payment: Permit2Body) =>
  sendAs(
    world.chainUrl,
    signedBy(payment).from,
    permit2,
    permit2Invalidation(BigInt(signedBy(payment).nonce)),
  )

/** Has the service claim the payment, which it cannot send; gives the answer to come. */
async function claimed(payment: Permit2Body) {
  const answer = settle(payment)
  await vi.waitFor(async () => expect((await lookUp(payment)).status).toBe(200), {
    timeout: 10_000,
  })
  return answer.then(({ body }) => body)
}

/** The start of `claimed`, for what must happen before its answer comes. */
async function claimedMeanwhile(payment: Permit2Body, next: () => Promise<unknown>) {
  const answer = settle(payment)
  await vi.waitFor(async () => expect((await lookUp(payment)).status).toBe(200), {
    timeout: 10_000,
  })
  await next()
  return (await answer).body
}

/** Signs that the payer themselves may take the amount by Permit2, and has them do so with the nonce of the payment. */
async function burning(payment: Permit2Body, signer: ReturnType<typeof anAccount>): Promise<Hex> {
  const permit = {
    permitted: { token: usdc, amount: 1n },
    nonce: BigInt(signedBy(payment).nonce),
    deadline: nowSeconds() + 600n,
  }
  const signature = await signer.signTypedData({
    domain: { name: 'Permit2', chainId: 5042, verifyingContract: permit2 },
    types: {
      TokenPermissions: [
        { name: 'token', type: 'address' },
        { name: 'amount', type: 'uint256' },
      ],
      PermitTransferFrom: [
        { name: 'permitted', type: 'TokenPermissions' },
        { name: 'spender', type: 'address' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    },
    primaryType: 'PermitTransferFrom',
    message: { ...permit, spender: signer.address },
  })
  const details = { to: signer.address, requestedAmount: 1n }
  const args = [permit, details, signer.address, signature]
  const { abi } = readArtifact('Permit2')
  return encodeFunctionData({ abi, functionName: 'permitTransferFrom', args })
}

/** A contract that inverts its calldata and calls the proxy of `exact` with it. */
async function aCodedForwarder(): Promise<Address> {
  const address = anAccount().address
  const loop = '5b8051198152602001803611600857'
  const callProxy = `60006000366000600073${exactPermit2Proxy.slice(2).toLowerCase()}5af1`
  const code = `0x3660006000376000${loop}${callProxy}603f5760006000fd5b00`
  await call(world.chainUrl, 'anvil_setCode', [address, code])
  return address
}

/** The code of a contract whose creation calls the proxy of `exact`. */
function creatingWith(data: Hex): Hex {
  const digits = data.slice(2)
  const length = (digits.length / 2).toString(16).padStart(4, '0')
  const callProxy = `6000600061${length}6000600073${exactPermit2Proxy.slice(2).toLowerCase()}5af1`
  return `0x61${length}610031600039${callProxy}5060006000f3${digits}`
}

const coded = (data: Hex): Hex =>
  `0x${Buffer.from(Buffer.from(data.slice(2), 'hex').map((byte) => 255 - byte)).toString('hex')}`

describe.each([
  ['where the node traces', true],
  ['where no node traces', false],
])('a payment by Permit2 that we cannot send, %s', (_, hasTraces) => {
  beforeAll(() => {
    proxy.fault('eth_sendRawTransaction', swallowed)
    if (!hasTraces) proxy.fault('debug_traceTransaction', unsupported)
  })
  afterAll(() => proxy.mend())

  it.concurrent('and that is cancelled is not paid by its twin, whose transaction has its words', async () => {
    const { pay, paid } = await aPair()
    const [twin, ghost] = [await pay(), await pay()]
    let cancelledIn: Hex = '0x'
    const body = await claimedMeanwhile(ghost, async () => {
      cancelledIn = await cancel(ghost)
      await sendTogether(world.chainUrl, [
        [exactPermit2Proxy, exactPermit2Call(twin)],
        [exactPermit2Proxy, exactPermit2Call(ghost)],
      ])
    })
    expect(await paid()).toBe(CENT)
    expect(body).toMatchObject({ success: false, errorReason: invalidNonce })
    expect(body.transaction).toBe(cancelledIn)
    expect(body.errorMessage).toMatch(/cancelled/)
    expect((await lookUp(ghost)).body).toMatchObject({ state: 'failed' })
  })

  it.concurrent('whose words stand in the signature of a contract wallet is not paid', async () => {
    const { pay, from, paid } = await aPair()
    // It takes any signature: it returns 0x1626ba7e.
    await call(world.chainUrl, 'anvil_setCode', [from, '0x631626ba7e60e01b60005260206000f3'])
    const [twin, ghost] = [await pay(), await pay()]
    const own = twin.paymentPayload.payload.signature
    const smuggled = `${own}${exactPermit2Call(ghost).slice(10)}` as Hex
    const body = await claimedMeanwhile(ghost, async () => {
      await cancel(ghost)
      await sendAs(
        world.chainUrl,
        anAccount().address,
        exactPermit2Proxy,
        exactPermit2Call(twin, smuggled),
      )
    })
    expect(await paid()).toBe(CENT)
    expect(body).toMatchObject({ success: false, errorReason: invalidNonce })
  })

  it.concurrent('is not paid by an equal transfer before the settlement of a worthless token', async () => {
    const { pay, from, to, paid } = await aPair()
    const ghost = await pay()
    const worthless = anAccount().address
    // It answers every call with true.
    await call(world.chainUrl, 'anvil_setCode', [worthless, '0x600160005260206000f3'])
    const nonce = BigInt(signedBy(ghost).nonce)
    const decoy = await pay({ token: worthless, nonce })
    const approval = encodeFunctionData({
      abi: erc20,
      functionName: 'approve',
      args: [multicall, CENT],
    })
    await sendAs(world.chainUrl, from, usdc, approval)
    const transfer = encodeFunctionData({
      abi: erc20,
      functionName: 'transferFrom',
      args: [from, to, CENT],
    })
    let hash: Hex = '0x'
    const body = await claimedMeanwhile(ghost, async () => {
      hash = await sendTogether(world.chainUrl, [
        [usdc, transfer],
        [exactPermit2Proxy, exactPermit2Call(decoy)],
        [exactPermit2Proxy, exactPermit2Call(ghost)],
      ])
    })
    expect(await paid()).toBe(CENT)
    expect(body.success).toBe(false)
    // Without a trace nobody can tell which of the two settlements ran.
    expect(body.errorReason).toBe(hasTraces ? invalidNonce : pending)
    expect(body.transaction).toBe(hash)
  })

  it.concurrent('is paid once where its twin failed in the same transaction', async () => {
    const { pay, paid } = await aPair()
    const [ghost, twin] = [await pay(), await pay()]
    await cancel(ghost)
    let hash: Hex = '0x'
    const body = await claimedMeanwhile(twin, async () => {
      hash = await sendTogether(world.chainUrl, [
        [exactPermit2Proxy, exactPermit2Call(ghost)],
        [exactPermit2Proxy, exactPermit2Call(twin)],
      ])
    })
    expect(await paid()).toBe(CENT)
    expect(body.transaction).toBe(hash)
    expect(body).toMatchObject(hasTraces ? { success: true } : { errorReason: pending })
  })

  it.concurrent('that lands while a contract is created is paid, or pending with that hash', async () => {
    const { pay, paid } = await aPair()
    const payment = await pay()
    let hash: Hex = '0x'
    const body = await claimedMeanwhile(payment, async () => {
      const stranger = anAccount().address
      hash = await sendAs(
        world.chainUrl,
        stranger,
        undefined,
        creatingWith(exactPermit2Call(payment)),
      )
    })
    expect(await paid()).toBe(CENT)
    expect(body.transaction).toBe(hash)
    expect(body).toMatchObject(hasTraces ? { success: true } : { errorReason: pending })
  })

  it.concurrent('that was paid and is cancelled afterwards is paid', async () => {
    const { pay } = await aPair()
    const payment = await pay()
    let hash: Hex = '0x'
    const body = await claimedMeanwhile(payment, async () => {
      const stranger = anAccount().address
      hash = await sendAs(world.chainUrl, stranger, exactPermit2Proxy, exactPermit2Call(payment))
      await cancel(payment)
    })
    expect(body).toMatchObject({ success: true, transaction: hash })
  })

  it('of nodes without the state of old blocks is found all the same', async () => {
    const lift = proxy.fault('eth_call', async (asked) => {
      const [, at] = asked.params
      if (at === 'latest') return asked.forward()
      return { error: { code: -32000, message: 'missing trie node: state is not available' } }
    })
    const { pay, from } = await aPair()
    // The balance covers both of them.
    await mintUsdc(world.chainUrl, from, CENT)
    const [payment, ghost] = [await pay(), await pay()]
    const [paidBody, cancelledBody] = await Promise.all([
      claimed(payment),
      claimed(ghost),
      (async () => {
        await vi.waitFor(async () => expect((await lookUp(ghost)).status).toBe(200))
        await vi.waitFor(async () => expect((await lookUp(payment)).status).toBe(200))
        await cancel(ghost)
        const stranger = anAccount().address
        await sendAs(world.chainUrl, stranger, exactPermit2Proxy, exactPermit2Call(payment))
      })(),
    ])
    expect(paidBody.success).toBe(true)
    expect(cancelledBody.errorMessage).toMatch(/cancelled/)
    lift()
  })

  it('that lands by coded calldata is paid, or pending with that hash, and never failed', async () => {
    const { pay, paid } = await aPair()
    const payment = await pay()
    const forwarder = await aCodedForwarder()
    let hash: Hex = '0x'
    const body = await claimedMeanwhile(payment, async () => {
      const data = coded(exactPermit2Call(payment))
      hash = await sendAs(world.chainUrl, anAccount().address, forwarder, data)
    })
    expect(await paid()).toBe(CENT)
    expect(body.transaction).toBe(hash)
    if (hasTraces) {
      expect(body.success).toBe(true)
      expect(body.extensions).toBeDefined()
      return
    }
    expect(body).toMatchObject({ success: false, errorReason: pending })
    expect(body.errorMessage).toMatch(/trace/)
    expect((await lookUp(payment)).body).toMatchObject({ state: 'submitted', transaction: hash })
    // As soon as a node traces, it is found out.
    proxy.mend()
    proxy.fault('eth_sendRawTransaction', swallowed)
    await vi.waitFor(async () => expect((await lookUp(payment)).body.state).toBe('confirmed'), {
      timeout: 60_000,
      interval: 500,
    })
    expect((await settle(payment)).body).toMatchObject({ success: true, transaction: hash })
  }, 90_000)
})

/** Finds our transaction with a payment, which no answer names yet. */
async function findInPool(payment: Permit2Body): Promise<Hex> {
  type Waiting = Record<string, Record<string, { hash: Hex; input: string }>>
  const { pending, queued } = await call<{ pending: Waiting; queued: Waiting }>(
    world.chainUrl,
    'txpool_content',
  )
  const all = [pending, queued].flatMap((it) =>
    Object.values(it).flatMap((ofSender) => Object.values(ofSender)),
  )
  const nonce = BigInt(signedBy(payment).nonce).toString(16).padStart(64, '0')
  const found = all.find(({ input }) => input.includes(nonce))
  if (found === undefined) throw new Error('it is not in the pool')
  return found.hash
}

describe('a payer who burns the nonce in front of our transaction', () => {
  it('is answered so at once, with the transaction of ours that failed for it', async () => {
    const { pay, signer, from } = await aPair()
    const payment = await pay()
    const data = await burning(payment, signer)
    await call(world.chainUrl, 'evm_setAutomine', [false])
    const answer = settle(payment)
    const own = await vi.waitFor(() => findInPool(payment))
    await outbid(world.chainUrl, from, permit2, data)
    const minedAt = Date.now()
    // One block takes both, and the dearer one comes first.
    await call(world.chainUrl, 'evm_mine')
    await call(world.chainUrl, 'evm_setAutomine', [true])
    const { body } = await answer
    expect(body).toMatchObject({ success: false, errorReason: invalidNonce, transaction: own })
    expect(body.errorMessage).toMatch(/used the nonce in block \d+/)
    // It is not the patience with nodes that lag, which is a minute.
    expect(Date.now() - minedAt).toBeLessThan(8_000)
    // An earlier transaction of the same wallet may have to be sent again first.
    await vi.waitFor(async () => {
      const params = [own]
      const receipt = await call<{ status: Hex } | null>(
        world.chainUrl,
        'eth_getTransactionReceipt',
        params,
      )
      expect(receipt?.status).toBe('0x0')
    }, 60_000)
  }, 90_000)
})
