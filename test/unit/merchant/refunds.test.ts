import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  createRefunds,
  type NewRefund,
  type PlannedRefund,
  proofOf,
  type Refund,
  type Refunds,
  refundNonce,
} from '../../../packages/merchant/src/refunds.js'
import { aFacilitator } from './a-shop.js'

const signer = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const payer = '0x00000000000000000000000000000000000000a1'
const asset = '0x3600000000000000000000000000000000000000'
const nowSeconds = () => Math.floor(Date.now() / 1000)

const wanted = (changes: Partial<NewRefund> = {}): NewRefund => ({
  network: 'eip155:5042',
  asset,
  extra: { name: 'USDC', version: '2' },
  amount: '7000',
  payer,
  paymentNonce: `0x${'5a'.repeat(32)}`,
  paymentValidBefore: nowSeconds() + 60,
  ...changes,
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arcus-refunds-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const refunds of opened.splice(0)) await refunds.close()
  rmSync(folder, { recursive: true })
})

const opened: Refunds[] = []
const path = () => join(folder, 'refunds.jsonl')
const lines = (): Refund[] =>
  readFileSync(path(), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

/** Refunds over a file, with a facilitator that answers as it is told and notes what it was sent. */
async function openRefunds(
  world: {
    answers?: ('lands' | 'used' | 'fails')[]
    isSettled?: boolean | undefined
    found?: string
    /** Runs while the outcome of a payment is asked. */
    whileAsked?: () => Promise<void>
    /** The key that signs. */
    key?: typeof signer
    /** Whether the chain shows as unused what an earlier key has signed. */
    isUnused?: boolean
  } = {},
) {
  const sent: { to: unknown; value: unknown; nonce: unknown }[] = []
  const askedOf: string[] = []
  const facilitator = aFacilitator({
    async settle({ payload }) {
      const { to, value, nonce } = payload.authorization as Record<string, unknown>
      sent.push({ to, value, nonce })
      const answer = world.answers?.shift() ?? 'lands'
      if (answer === 'lands') return { success: true, transaction: '0xaa', network: 'eip155:5042' }
      const errorReason = answer === 'used' ? 'invalid_exact_evm_nonce_already_used' : 'busy'
      return { success: false, errorReason, transaction: '', network: 'eip155:5042' }
    },
  })
  const refunds = await createRefunds({
    facilitator,
    signer: world.key ?? signer,
    path: path(),
    retrySeconds: 3_600,
    async wasSettled() {
      await world.whileAsked?.()
      return world.isSettled
    },
    async findTransfer({ from }) {
      askedOf.push(from)
      return world.found
    },
    isUnused: async () => world.isUnused ?? false,
  })
  opened.push(refunds)
  return { refunds, sent, askedOf }
}

describe('a payment of a facilitator that cannot be looked up', () => {
  const payment = {
    network: 'eip155:5042',
    asset,
    payer,
    payTo: signer.address,
    amount: '10000',
    nonce: `0x${'5b'.repeat(32)}`,
  }

  it('is given back once it is said to be settled, once, also after a start', async () => {
    const unsure = await openRefunds({ isSettled: undefined })
    await expect(unsure.refunds.refund(payment)).rejects.toThrow(/not known to be settled/)
    await opened.pop()?.close()
    const first = await openRefunds({ isSettled: true })
    const given = { amount: '4000', transaction: '0xaa' }
    expect(await first.refunds.refund(payment, '4000')).toEqual(given)
    expect(await first.refunds.refund(payment)).toEqual(given)
    await opened.pop()?.close()
    const next = await openRefunds({ isSettled: true })
    expect(await next.refunds.refund(payment)).toEqual(given)
    expect([first.sent.length, next.sent.length]).toEqual([1, 0])
  })

  it('that could not be given back yet is tried on, for the first amount', async () => {
    const { refunds, sent } = await openRefunds({ isSettled: true, answers: ['fails', 'fails'] })
    expect(await refunds.refund(payment, '$0.004')).toEqual({ amount: '4000' })
    expect(refunds.pending()).toMatchObject([{ state: 'due', amount: '4000' }])
    await vi.waitFor(async () => {
      expect(await refunds.refund(payment)).toEqual({ amount: '4000', transaction: '0xaa' })
    })
    expect(new Set(sent.map(({ value }) => value))).toEqual(new Set(['4000']))
  })
})

describe('a refund', () => {
  it('is in the ledger before the payment is settled, and goes to the buyer once it is', async () => {
    const { refunds, sent } = await openRefunds()
    const planned = await refunds.plan(wanted())
    expect(lines()).toMatchObject([{ state: 'planned', amount: '7000', payer }])
    await refunds.run()
    expect(sent).toEqual([])
    expect(await planned.confirm()).toBe('7000')
    await refunds.run()
    expect(sent).toEqual([{ to: payer, value: '7000', nonce: refundNonce(wanted()) }])
    expect(lines().map(({ state }) => state)).toEqual(['planned', 'due', 'landed'])
    expect(refunds.pending()).toEqual([])
    await refunds.run()
    expect(sent).toHaveLength(1)
  })

  it('whose nonce is used stays pending without proof, and lands with it', async () => {
    const world = { answers: ['used', 'used'] as 'used'[], found: undefined as string | undefined }
    const { refunds } = await openRefunds(world as object)
    await (await refunds.plan(wanted())).confirm()
    await refunds.run()
    expect(refunds.pending()).toMatchObject([{ state: 'due' }])
    Object.assign(world, { answers: ['used', 'used'], found: '0xbb' })
    await refunds.run()
    expect(lines().at(-1)).toMatchObject({ state: 'landed', transaction: '0xbb' })
  })

  describe('that the key before has signed', () => {
    const key = privateKeyToAccount(`0x${'22'.repeat(32)}`)
    const lifetimeSeconds = 7 * 86_400

    /** A refund that the first key has sent, and whose outcome it did not hear. */
    async function leaveOne(): Promise<void> {
      const { refunds } = await openRefunds({ answers: ['fails', 'fails', 'fails'] })
      await (await refunds.plan(wanted())).confirm()
      await refunds.run()
      await opened.pop()?.close()
    }

    it('is never sent by the next one while it may still land', async () => {
      await leaveOne()
      const { refunds, sent, askedOf } = await openRefunds({ key, isUnused: true })
      await refunds.run()
      expect([sent, askedOf[0]]).toEqual([[], signer.address])
      expect(refunds.pending()).toMatchObject([{ state: 'due', from: signer.address }])
    })

    it('has landed where its transfer is found', async () => {
      await leaveOne()
      const { refunds, sent } = await openRefunds({ key, found: '0xcc' })
      await refunds.run()
      expect(sent).toEqual([])
      expect(lines().at(-1)).toMatchObject({ state: 'landed', transaction: '0xcc' })
    })

    it('is sent by the next one once its time is over, and the chain shows it unused', async () => {
      await leaveOne()
      const later = Date.now() + (lifetimeSeconds + 700) * 1_000
      vi.spyOn(Date, 'now').mockReturnValue(later)
      const unproven = await openRefunds({ key })
      await unproven.refunds.run()
      expect(unproven.sent).toEqual([])
      await opened.pop()?.close()
      const { refunds, sent } = await openRefunds({ key, isUnused: true })
      await refunds.run()
      expect(sent).toHaveLength(1)
      const [taken, landed] = lines().slice(-2)
      expect(taken).toMatchObject({ state: 'due', from: key.address })
      expect(taken?.validBefore).toBeGreaterThan(later / 1_000)
      expect(landed).toMatchObject({ state: 'landed' })
    })
  })

  it.each([
    ['is not known there', 404, { error: 'not_found' }, true],
    ['failed, and the chain shows it unused', 200, { state: 'failed', unusedAtBlock: 7 }, true],
    [
      'failed, and the chain was not read since',
      200,
      { state: 'failed', unusedAtBlock: null },
      false,
    ],
    ['cannot be asked about', 503, { error: 'unavailable' }, false],
  ])('that another key signed is asked for at Arcus: it %s', async (_, status, body, isSent) => {
    const { refunds } = await openRefunds({ answers: ['fails', 'fails', 'fails'] })
    await (await refunds.plan(wanted())).confirm()
    await refunds.run()
    await opened.pop()?.close()
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 8 * 86_400_000)
    const asked: string[] = []
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
      const { pathname } = new URL(String(input))
      asked.push(pathname.split('/')[1] as string)
      return new Response(JSON.stringify(body), { status })
    })
    const key = privateKeyToAccount(`0x${'22'.repeat(32)}`)
    const facilitator = 'https://arcus.example.com'
    const next = await createRefunds({
      facilitator,
      signer: key,
      path: path(),
      retrySeconds: 3_600,
    })
    opened.push(next)
    await next.run()
    expect(asked.includes('settle')).toBe(isSent)
  })

  it('asks for its own payment, by token and method, though the nonce was used by the other one too', async () => {
    const asked: string[] = []
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
      const url = new URL(String(input))
      asked.push(url.search)
      // Without both the answer of Arcus is a 409 with the queries to choose from.
      const isClear = url.searchParams.has('asset') && url.searchParams.has('method')
      if (!isClear) return Response.json({ error: 'ambiguous_payment' }, { status: 409 })
      const isPermit2 = url.searchParams.get('method') === 'permit2'
      return Response.json({ state: isPermit2 ? 'failed' : 'confirmed' })
    })
    const arcus = 'https://arcus.example'
    const refunds = await createRefunds({
      facilitator: arcus,
      signer,
      path: path(),
      retrySeconds: 3_600,
    })
    opened.push(refunds)
    const paymentValidBefore = nowSeconds() - 3_600
    for (const method of ['eip3009', 'permit2'] as const) {
      ;(await refunds.plan(wanted({ method, paymentValidBefore }))).leave()
    }
    await refunds.run()
    const states = new Map(lines().map(({ method, state }) => [method, state]))
    expect([states.get('eip3009'), states.get('permit2')]).toEqual(['due', 'dropped'])
    expect(asked.slice(0, 2).sort()).toEqual(
      ['eip3009', 'permit2'].map((method) => `?asset=${asset}&method=${method}`),
    )
    // Two payments, two refunds: one nonce would lose the second.
    expect(refundNonce(wanted({ method: 'permit2' }))).not.toBe(refundNonce(wanted()))
    expect(refundNonce(wanted({ method: 'eip3009' }))).toBe(refundNonce(wanted()))
  })

  it('of one payment is one, though two calls present it', async () => {
    const { refunds, sent } = await openRefunds()
    const first = await refunds.plan(wanted())
    const second = await refunds.plan(wanted({ amount: '9000' }))
    expect(await first.confirm()).toBe('7000')
    expect(await second.confirm()).toBe('7000')
    await refunds.run()
    expect(sent.map(({ value }) => value)).toEqual(['7000'])
    expect(refunds.isKnown(wanted())).toBe(true)
  })
})

describe('a refund whose call did not live to see the payment settle', () => {
  const paymentNonce = `0x${'5b'.repeat(32)}` as const
  const past = () => wanted({ paymentValidBefore: nowSeconds() - 601 })

  it.each([
    ['settled', true, 'landed', 1],
    ['failed, and can settle no more', false, 'dropped', 0],
    ['nobody knows', undefined, 'planned', 0],
  ])('of a payment that %s', async (_, isSettled, state, count) => {
    const { refunds, sent } = await openRefunds({ isSettled })
    ;(await refunds.plan(past())).leave()
    await refunds.run()
    await refunds.run()
    expect(lines().at(-1)?.state).toBe(state)
    expect(sent).toHaveLength(count)
  })

  it('waits while the payment may still settle, by clocks that differ by ten minutes', async () => {
    const { refunds } = await openRefunds({ isSettled: false })
    const payments = [{}, { paymentNonce, paymentValidBefore: nowSeconds() - 580 }]
    for (const changes of payments) (await refunds.plan(wanted(changes))).leave()
    await refunds.run()
    expect(refunds.pending()).toMatchObject([{ state: 'planned' }, { state: 'planned' }])
  })

  it('gives way to the call that presents the payment again, and counts', async () => {
    const world: Parameters<typeof openRefunds>[0] = { isSettled: true }
    const { refunds, sent } = await openRefunds(world)
    ;(await refunds.plan(past())).leave()
    let again: PlannedRefund | undefined
    world.whileAsked = async () => {
      again ??= await refunds.plan({ ...past(), amount: '9000' })
    }
    await refunds.run()
    expect(await again?.confirm()).toBe('9000')
    await refunds.run()
    expect(sent.map(({ value }) => value)).toEqual(['9000'])
  })
})

describe('the ledger', () => {
  const refund = (changes: Partial<Refund> = {}): Refund => ({
    ...wanted(),
    id: 'a',
    state: 'due',
    validBefore: nowSeconds() + 600,
    ...changes,
  })
  const fails = () => ({ answers: Array<'fails'>(20).fill('fails') })

  it('has a refund on disk before it is planned', async () => {
    const { refunds } = await openRefunds()
    const handle = await open(path())
    const synced: string[] = []
    vi.spyOn(Object.getPrototypeOf(handle), 'datasync').mockImplementation(async () => {
      synced.push(readFileSync(path(), 'utf8'))
    })
    await handle.close()
    await refunds.plan(wanted())
    expect(synced).toHaveLength(1)
    expect(synced[0]).toContain('"state":"planned"')
  })

  it('knows after a restart which refunds neither landed nor were dropped', async () => {
    const rows = [
      ...['a', 'b', 'c'].map((id) => refund({ id, paymentNonce: `0x0${id}` })),
      refund({ id: 'a', state: 'landed' }),
      refund({ id: 'b', state: 'dropped' }),
    ]
    writeFileSync(path(), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    const { refunds } = await openRefunds(fails())
    expect(refunds.pending().map(({ id }) => id)).toEqual(['c'])
  })

  it('survives a last line that a crash has torn', async () => {
    writeFileSync(path(), `${JSON.stringify(refund())}\n{"id":"b","sta`)
    const torn = await openRefunds(fails())
    await torn.refunds.plan(wanted({ paymentNonce: '0x0c' }))
    const again = await openRefunds(fails())
    expect(again.refunds.pending().map(({ paymentNonce }) => paymentNonce)).toEqual([
      wanted().paymentNonce,
      '0x0c',
    ])
  })
})

describe('the proof that a refund landed', () => {
  const transfer = {
    network: 'eip155:5042',
    asset,
    from: signer.address,
    to: payer,
    amount: '7000',
    nonce: '0x01',
  } as const
  const told = { state: 'confirmed', asset, payTo: payer, amount: '7000', transaction: '0xaa' }

  it('is a confirmed payment of the same amount of the same token to the same buyer', () => {
    expect(proofOf(transfer, told)).toBe('0xaa')
  })

  it.each([
    { state: 'failed' },
    { amount: '6999' },
    { payTo: signer.address },
    { asset: payer },
    { transaction: undefined },
  ])('is nothing with %j', (changes) => {
    expect(proofOf(transfer, { ...told, ...changes })).toBeUndefined()
  })
})
