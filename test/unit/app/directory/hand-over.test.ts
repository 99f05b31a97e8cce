import { circleTokens } from '@arcus/protocol/x402/currencies'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHandOver, type HandOver } from '../../../../src/app/directory/hand-over.js'
import { readAnswers, readOfferRow } from '../../../../src/app/directory/handed-over.js'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import { aSettledPayment } from '../../directory/seen-in-payments/an-offer.js'
import { anAnswer } from './an-answer.js'

const network = 'eip155:5042'
const blocked = '0x2222222222222222222222222222222222222222'

let stores: ReturnType<typeof openSqliteStores>
let handOver: HandOver
let clock = 1_000_000_000
const disk = { isLow: false }
const logged: object[] = []

function open(outbox = stores.outbox): HandOver {
  handOver = createHandOver({
    outbox,
    rules: {
      networks: new Map([[network, circleTokens[network]]]),
      targetRules: { allowPrivateHosts: false, ownOrigins: ['https://pay.example.com'] },
      isPayToBlocked: (payTo) => payTo === blocked,
    },
    isDiskLow: () => disk.isLow,
    now: () => clock,
    log: { info: (details) => logged.push(details), warn: (details) => logged.push(details) },
  })
  return handOver
}

beforeEach(() => {
  stores = openSqliteStores(':memory:')
  disk.isLow = false
  logged.length = 0
  open()
})

afterEach(async () => {
  await handOver.stop()
  await stores.close()
})

const bodiesOf = (kind: 'answers' | 'offer') =>
  stores.database
    .prepare('SELECT body FROM outbox WHERE kind = ? ORDER BY id')
    .pluck()
    .all(kind) as string[]

const offers = () => bodiesOf('offer').map(readOfferRow)

/** Resolves once all that was given before is written: rows are written in their order. */
const written = () => stores.commit.write(() => {})

describe('an answer', () => {
  it('is handed over with others in one row, in their order', async () => {
    const answers = [anAnswer(), anAnswer({ state: 'failed', reason: 'x' }), anAnswer()]
    for (const answer of answers) handOver.onAnswer(answer)
    expect(bodiesOf('answers')).toEqual([])
    await vi.waitUntil(() => bodiesOf('answers').length > 0)
    expect(bodiesOf('answers').map(readAnswers)).toEqual([
      answers.map((answer) => ({ ...answer, query: [] })),
    ])
  })

  it('keeps its whole amount and its gas', async () => {
    const amount = 2n ** 200n + 1n
    handOver.onAnswer(anAnswer({ gasCost: 10n ** 30n, payment: { amount } }))
    handOver.onAnswer(anAnswer({ gasCost: null }))
    await handOver.stop()
    const [[large, unknown] = []] = bodiesOf('answers').map(readAnswers)
    expect([large?.payment.amount, large?.gasCost]).toEqual([amount, 10n ** 30n])
    expect(unknown?.gasCost).toBeNull()
  })

  it('has neither the query of its URL nor its signature', async () => {
    const proof = `0x${'5ec2e7'.repeat(21)}` as const
    const resourceUrl =
      'https://user:passw0rd@api.example.com/weather?city=Lisbon&key=topsecret#part'
    handOver.onAnswer(anAnswer({ payment: { resourceUrl, toolName: 'forecast', proof } }))
    await handOver.stop()
    const [body = ''] = bodiesOf('answers')
    for (const secret of ['Lisbon', 'topsecret', 'passw0rd', 'part', proof]) {
      expect(body).not.toContain(secret)
    }
    const [answer] = readAnswers(body)
    expect(answer?.payment).toMatchObject({
      resourceUrl: 'https://api.example.com/weather',
      toolName: 'forecast',
    })
    expect(answer?.query).toHaveLength(2)
  })

  it('is one of at most five hundred in a row', async () => {
    for (let i = 0; i < 1_001; i++) handOver.onAnswer(anAnswer())
    await handOver.stop()
    expect(bodiesOf('answers').map((body) => readAnswers(body).length)).toEqual([500, 500, 1])
    expect(handOver.dropped()).toBe(0)
  })

  it('is dropped and counted where five thousand wait to be written', async () => {
    for (let i = 0; i < 5_003; i++) handOver.onAnswer(anAnswer())
    expect(handOver.dropped()).toBe(3)
    await handOver.stop()
    expect(bodiesOf('answers').flatMap(readAnswers)).toHaveLength(5_000)
  })

  it('is dropped and counted while the disk is nearly full', async () => {
    disk.isLow = true
    handOver.onAnswer(anAnswer())
    disk.isLow = false
    handOver.onAnswer(anAnswer())
    await handOver.stop()
    expect(bodiesOf('answers').flatMap(readAnswers)).toHaveLength(1)
    expect(handOver.dropped()).toBe(1)
  })

  it('is dropped and counted where a thousand rows wait for the directory, and others follow', async () => {
    const fill = stores.database.prepare("INSERT INTO outbox (kind, body) VALUES ('answers', '[]')")
    for (let i = 0; i < 999; i++) fill.run()
    for (let i = 0; i < 501; i++) handOver.onAnswer(anAnswer())
    await vi.waitUntil(() => handOver.dropped() === 1)
    expect(bodiesOf('answers')).toHaveLength(1_000)
    stores.database.exec('DELETE FROM outbox')
    handOver.onAnswer(anAnswer())
    await handOver.stop()
    expect(bodiesOf('answers').flatMap(readAnswers)).toHaveLength(1)
  })

  it('is dropped and counted if the store fails, and the next one is handed over', async () => {
    let isBroken = true
    const append: typeof stores.outbox.append = async (...row) => {
      if (isBroken) throw new Error('disk full')
      return stores.outbox.append(...row)
    }
    open({ ...stores.outbox, append })
    handOver.onAnswer(anAnswer())
    await vi.waitUntil(() => handOver.dropped() === 1)
    expect(logged).toHaveLength(1)
    isBroken = false
    handOver.onAnswer(anAnswer())
    await handOver.stop()
    expect(bodiesOf('answers').flatMap(readAnswers)).toHaveLength(1)
  })
})

describe('the resource of a settled payment', () => {
  it('is offered once, whoever pays for it again within a second', async () => {
    const payer = '0x8888888888888888888888888888888888888888'
    expect(handOver.offerResource(aSettledPayment())).toEqual({ status: 'processing' })
    expect(handOver.offerResource(aSettledPayment({ settled: { payer } }))).toEqual({
      status: 'processing',
    })
    await written()
    expect(offers()).toHaveLength(1)
    expect(offers()[0]).toMatchObject({ offer: { terms: { amount: 10_000n } } })
    clock += 1_000
    handOver.offerResource(aSettledPayment())
    await written()
    expect(offers()).toHaveLength(2)
  })

  it('is offered again at once if its seller describes it differently', async () => {
    handOver.offerResource(aSettledPayment())
    const output = { type: 'json', example: { celsius: 22 } }
    const info = { input: { type: 'http', method: 'GET' }, output }
    handOver.offerResource(aSettledPayment({ bazaar: { info } }))
    await written()
    expect(offers()).toHaveLength(2)
  })

  it('is answered with what the catalog made of it, for a minute if it was rejected', async () => {
    handOver.offerResource(aSettledPayment())
    await written()
    const [handed] = offers()
    if (handed === undefined || !('offer' in handed)) throw new Error('not offered')
    const { key, fingerprint } = handed.offer
    const answer = (status: object) =>
      stores.outbox.noteOutcome({ key, fingerprint, status: JSON.stringify(status), at: clock })
    await answer({ status: 'success' })
    const known = () => handOver.offerResource(aSettledPayment())
    await vi.waitFor(() => expect(known()).toEqual({ status: 'success' }))
    const rejected = { status: 'rejected', rejectedReason: 'No.' } as const
    clock += 1_000
    expect(known()).toEqual({ status: 'success' })
    await written()
    expect(offers()).toHaveLength(2)
    await answer(rejected)
    await vi.waitFor(() => expect(known()).toEqual(rejected))
    clock += 59_999
    expect(known()).toEqual(rejected)
    await written()
    expect(offers()).toHaveLength(2)
    clock += 1
    expect(known()).toEqual(rejected)
    await written()
    expect(offers()).toHaveLength(3)
  })

  it('does not take the outcome of an earlier offer for its own', async () => {
    handOver.offerResource(aSettledPayment())
    await written()
    const [handed] = offers()
    if (handed === undefined || !('offer' in handed)) throw new Error('not offered')
    const { key, fingerprint } = handed.offer
    const status = JSON.stringify({ status: 'rejected', rejectedReason: 'Before.' })
    const looked = vi.spyOn(stores.outbox, 'outcomesOf')
    await stores.outbox.noteOutcome({ key, fingerprint, status, at: clock - 1 })
    await vi.waitUntil(() => looked.mock.calls.length > 1)
    expect(handOver.offerResource(aSettledPayment())).toEqual({ status: 'processing' })
  })

  it('that its buyer did not describe is handed over as far as it is named, once a second', async () => {
    const whole = aSettledPayment()
    const { payTo, asset, network } = whole
    const bare = (payload: object) => handOver.offerResource({ ...whole, payload })
    const named = { resource: { url: 'https://api.example.com/v1/weather?city=Porto' } }
    expect([bare(named), bare(named)]).toEqual(
      Array(2).fill({ status: 'processing', reason: expect.stringContaining('asks the URL') }),
    )
    expect(bare({})).toEqual({
      status: 'processing',
      reason: expect.stringContaining('left resource.url out'),
    })
    // The extension alone says nothing of where the resource is.
    const { extensions } = whole.payload as { extensions: object }
    expect(bare({ extensions })).toMatchObject({ reason: expect.stringContaining('resource.url') })
    await written()
    const terms = { payTo, asset, network, amount: 10_000n }
    expect(offers()).toMatchObject([
      { bare: { ...terms, url: 'https://api.example.com/v1/weather' } },
      { bare: terms },
    ])
    expect(offers()[1]).not.toHaveProperty('bare.url')
    clock += 1_000
    bare(named)
    await written()
    expect(offers()).toHaveLength(3)
  })

  it('gives money back, and there is nothing to hand over', async () => {
    const payload = { extensions: { refund: { info: { nonce: '0x' } } } }
    expect(handOver.offerResource({ ...aSettledPayment(), payload })).toBeUndefined()
    await written()
    expect(offers()).toEqual([])
  })

  it('is refused by its rules at once, which is noted once a minute', async () => {
    const refused = () =>
      handOver.offerResource(
        aSettledPayment({ settled: { payTo: blocked }, requirement: { payTo: blocked } }),
      )
    const answer = { status: 'rejected', rejectedReason: 'this payTo is not listed here.' }
    expect([refused(), refused()]).toEqual([answer, answer])
    clock += 59_999
    refused()
    await written()
    expect(offers()).toEqual([
      {
        refused: {
          url: 'https://api.example.com/v1/weather',
          payTo: blocked,
          rejectedReason: answer.rejectedReason,
        },
      },
    ])
    expect(logged).toHaveLength(1)
    clock += 1
    refused()
    await written()
    expect(offers()).toHaveLength(2)
  })

  const resourceAt = (i: number) => ({ url: `https://api.example.com/v1/${i}` })

  it('is one of fifty that a payTo may offer at once, and one more each second', async () => {
    const offerAt = (i: number) =>
      handOver.offerResource(aSettledPayment({ resource: resourceAt(i) }))
    for (let i = 0; i < 50; i++) expect(offerAt(i)).toEqual({ status: 'processing' })
    expect(offerAt(50)).toMatchObject({
      status: 'rejected',
      rejectedReason: expect.stringContaining('wait'),
    })
    clock += 1_000
    expect([offerAt(50)?.status, offerAt(51)?.status]).toEqual(['processing', 'rejected'])
    await written()
    expect(offers()).toHaveLength(51)
  })

  it('is not noted as refused without end either: strangers pay themselves at little cost', async () => {
    for (let i = 0; i < 60; i++) {
      const wish = { settled: { payTo: blocked }, requirement: { payTo: blocked } } as const
      const status = handOver.offerResource(aSettledPayment({ ...wish, resource: resourceAt(i) }))
      expect(status?.status).toBe('rejected')
    }
    await written()
    expect(offers()).toHaveLength(50)
  })

  it('is not kept while the disk is nearly full, or five thousand wait; the next payment offers it', async () => {
    disk.isLow = true
    handOver.offerResource(aSettledPayment())
    disk.isLow = false
    const fill = stores.database.prepare("INSERT INTO outbox (kind, body) VALUES ('offer', '{}')")
    for (let i = 0; i < 5_000; i++) fill.run()
    clock += 1_000
    handOver.offerResource(aSettledPayment())
    await written()
    expect(bodiesOf('offer')).toHaveLength(5_000)
    stores.database.exec('DELETE FROM outbox')
    clock += 1_000
    handOver.offerResource(aSettledPayment())
    await written()
    expect(offers()).toHaveLength(1)
  })
})
