import {
  appendFileSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { leftOf, readBudget } from '@arcus/client/budget'
import { entriesOf, foldEvents, type Ledger, type LedgerEvent } from '@arcus/client/ledger'
import { createFileLedger } from '@arcus/client/ledger-file'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'

const root = mkdtempSync(join(tmpdir(), 'arcus-ledger-file-'))
const network = 'eip155:5042'
const asset = '0x3600000000000000000000000000000000000000'
const DAY = 86_400_000
const now = Date.parse('2026-11-20T12:00:00Z')
const small = { maxBytes: 4_000 }

let folder: string
let path: string
let ids = 0

beforeEach(() => {
  folder = mkdtempSync(join(root, 'a-'))
  path = join(folder, 'ledger.jsonl')
})
afterAll(() => rmSync(root, { recursive: true }))

const reserved = (at: number, seller = 0, amount = 10): LedgerEvent => ({
  v: 1,
  type: 'reserved',
  id: `call-${ids++}`,
  at,
  amount: `${amount}`,
  network,
  asset,
  payTo: `0x${String(seller).padStart(40, '0')}`,
  host: `seller-${seller % 3}.example`,
  call: 'digest',
})
const signed = ({ id, at }: LedgerEvent): LedgerEvent => {
  const payment = { network, payer: '0x1', nonce: '0x2', asset, method: 'eip3009' } as const
  return { v: 1, type: 'signed', id, at, payment, validBefore: Math.floor(at / 1_000) + 60 }
}
const settled = ({ id, at }: LedgerEvent, amount = 10): LedgerEvent => {
  return { v: 1, type: 'settled', id, at, amount: `${amount}`, transaction: '0xab' }
}
/** A whole call that is settled. */
const paid = (at: number, seller = 0) => {
  const first = reserved(at, seller)
  return [first, signed(first), settled(first)]
}
const total = (events: readonly LedgerEvent[]) =>
  entriesOf(events).reduce((sum, { spent }) => sum + spent, 0n)
const names = () => readdirSync(folder).sort()
const sizes = () => names().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

/** Books a call as a buyer does, who signs nothing for a reservation that is gone. Returns what it cost. */
async function buy(ledger: Ledger, at: number, seller = 0): Promise<bigint> {
  const first = reserved(at, seller)
  await ledger.append(first)
  const entries = entriesOf(await ledger.append(signed(first)))
  if (entries.find(({ id }) => id === first.id)?.state !== 'signed') return 0n
  await ledger.append(settled(first))
  return 10n
}

describe('folding', () => {
  const budget = readBudget(
    { perCall: '$1', perDay: '$1', perSeller: '$1', total: '$1' },
    { network, asset },
  )
  const anEvent = fc
    .record({
      days: fc.double({ min: 0, max: 20, noNaN: true }),
      seller: fc.nat(4),
      amount: fc.integer({ min: 1, max: 1_000 }),
      ending: fc.constantFrom('none', 'signed', 'unknown', 'settled', 'cheaper', 'released'),
    })
    .map(({ days, seller, amount, ending }): LedgerEvent[] => {
      const first = reserved(now - days * DAY, seller, amount)
      const { id, at } = first
      const events = [first]
      if (ending === 'none') return events
      if (ending === 'released') {
        return [first, { v: 1, type: 'released', id, at, reason: 'unsigned' }]
      }
      events.push(signed(first))
      if (ending === 'unknown') events.push({ v: 1, type: 'unknown', id, at })
      if (ending === 'settled') events.push(settled(first, amount))
      if (ending === 'cheaper') events.push(settled(first, Math.floor(amount / 2)))
      return events
    })

  it('leaves what every limit allows, now and later, and again when it is folded again', () => {
    const sellers = Array.from({ length: 5 }, (_, n) => {
      const { payTo, host } = reserved(0, n) as Extract<LedgerEvent, { type: 'reserved' }>
      return { payTo, host }
    })
    const allows = (events: readonly LedgerEvent[], at: number, foldedAt = now) => {
      // A call that was reserved and not signed for two days is dropped: its process is given up by then.
      const entries = entriesOf(events).filter(
        (it) => it.state !== 'reserved' || it.at >= foldedAt - 2 * DAY,
      )
      return sellers.map((seller) => leftOf(entries, budget, at, seller))
    }
    fc.assert(
      fc.property(fc.array(anEvent, { maxLength: 40 }), fc.nat(3 * DAY), (calls, later) => {
        const events = calls.flat().sort((a, b) => a.at - b.at)
        const folded = foldEvents(events, now)
        for (const at of [now, now + later]) expect(allows(folded, at)).toEqual(allows(events, at))
        const month = now + 30 * DAY
        const again = foldEvents(folded, month)
        expect(again.length).toBeLessThanOrEqual(sellers.length)
        expect(allows(again, month)).toEqual(allows(folded, month, month))
      }),
    )
  })

  it('keeps what can still change: young calls, undecided ones and open channels', () => {
    const old = now - 5 * DAY
    const undecided = reserved(old)
    const young = reserved(now - DAY)
    const filled = reserved(old, 7, 1_000)
    const config = {
      payer: '0x1',
      payerAuthorizer: '0x1',
      receiver: '0x2',
      receiverAuthorizer: '0x3',
    }
    const channel = {
      channelId: '0x9' as const,
      config: { ...config, token: asset, withdrawDelay: 900, salt: '0x4' } as never,
      price: '10',
      url: 'http://seller.example/',
    }
    const { id } = filled
    const steps = (call: string, charged: string): LedgerEvent[] => [
      { v: 1, type: 'drawn', id, at: old, call, amount: '10' },
      { v: 1, type: 'charged', id, at: old, call, total: charged },
    ]
    const events: LedgerEvent[] = [
      ...Array.from({ length: 50 }, () => paid(old)).flat(),
      undecided,
      signed(undecided),
      { ...filled, channel } as LedgerEvent,
      signed(filled),
      settled(filled, 1_000),
      { v: 1, type: 'charged', id, at: old, call: id, total: '10' },
      ...Array.from({ length: 30 }, (_, n) => steps(`c${n}`, `${20 + n * 10}`)).flat(),
      { v: 1, type: 'drawn', id, at: now, call: 'current', amount: '10' },
      young,
    ]
    const folded = foldEvents(events, now)
    expect(folded).toHaveLength(8)
    expect(entriesOf(folded).slice(1)).toEqual(entriesOf(events).slice(50))
    expect(entriesOf(folded)[0]).toMatchObject({ state: 'carried', spent: 500n, at: old })
    // A channel that the chain shows empty is over.
    const read = { isThere: true, balance: '310', claimed: '310' }
    const closed = foldEvents([...folded, { v: 1, type: 'read', id, at: now, ...read }], now)
    expect(entriesOf(closed).filter(({ channel }) => channel !== undefined)).toEqual([])
    expect(total(closed)).toBe(500n + 10n + 310n + 10n)
    // So is a payment of which nobody will say any more what became of it.
    expect(entriesOf(foldEvents(folded, now + 9 * DAY)).map(({ state }) => state)).toEqual([
      'carried',
      'settled',
    ])
  })
})

describe('a ledger file that a person edits', () => {
  const keep = { 'puts another file in its place': renameSync, 'cuts it short': copyFileSync }
  it.each(Object.entries(keep))('is the same for all after an editor %s', async (_, put) => {
    const ledger = createFileLedger(path)
    const [first, removed, next] = [reserved(now), reserved(now), reserved(now)]
    await ledger.append(first)
    await ledger.append(removed)
    writeFileSync(`${path}~`, `${JSON.stringify(first)}\n`)
    put(`${path}~`, path)
    expect(await ledger.append(next)).toEqual([first, next])
    expect(await createFileLedger(path).read()).toEqual([first, next])
  })

  it('is refused where a line is no event', async () => {
    writeFileSync(path, 'null\n')
    await expect(createFileLedger(path).read()).rejects.toThrow('this ledger')
  })
})

describe('a ledger file that grows', () => {
  it('is followed by a small one, and never takes more than two files', async () => {
    const ledger = createFileLedger(path, small)
    // Copies that somebody made are not taken for files of the ledger.
    const copies = [
      'ledger.jsonl.2',
      'ledger.jsonl.part02',
      'ledger.jsonl.part9.old',
      'x.jsonl.part9',
    ]
    for (const name of copies) writeFileSync(join(folder, name), '')
    let largest = 0
    let spent = 0n
    for (let n = 0; n < 200; n++) {
      spent += await buy(ledger, Date.now() - 3 * DAY, n % 4)
      largest = Math.max(largest, sizes())
    }
    expect(spent).toBeGreaterThan(1_000n)
    expect(total(await ledger.read())).toBe(spent)
    expect(total(await createFileLedger(path).read())).toBe(spent)
    expect(names()).toHaveLength(2 + copies.length)
    expect(largest).toBeLessThan(4 * small.maxBytes)
    for (const name of names().filter((it) => !copies.includes(it))) {
      expect(statSync(join(folder, name)).mode & 0o077).toBe(0)
    }
  })

  it('is left alone while most of it still counts', async () => {
    const ledger = createFileLedger(path, small)
    for (let n = 0; n < 60; n++) await buy(ledger, Date.now() - DAY)
    expect(names()).toEqual(['ledger.jsonl'])
    expect(sizes()).toBeGreaterThan(4 * small.maxBytes)
  })

  it('is one ledger for all who have it open, whoever seals it', async () => {
    const sizesOf = [2_000, 3_000, 5_000, 1_000_000]
    const ledgers = sizesOf.map((maxBytes) => createFileLedger(path, { maxBytes }))
    // One of them looks again only when all others have long gone on.
    const sleeper = createFileLedger(path, small)
    const young: string[] = []
    let expected = 0n
    for (let n = 0; n < 60; n++) {
      const calls = ledgers.map((ledger, lane) => buy(ledger, Date.now() - 3 * DAY, lane))
      const one = reserved(Date.now())
      young.push(one.id)
      await ledgers[n % 4]?.append(one)
      for (const cost of await Promise.all(calls)) expected += cost
    }
    expected += 60n * 10n
    const seen = await Promise.all([...ledgers, sleeper].map((ledger) => ledger.read()))
    for (const events of seen) {
      expect(total(events)).toBe(expected)
      expect(events).toEqual(seen[0])
    }
    const order = entriesOf(seen[0] ?? []).map(({ id }) => id)
    expect(order.filter((id) => young.includes(id))).toEqual(young)
    expect(Math.max(...names().map((name) => Number(name.split('.part')[1] ?? 1)))).toBeGreaterThan(
      4,
    )
    const last = reserved(Date.now())
    expect((await sleeper.append(last)).at(-1)).toEqual(last)
    expect((await ledgers[0]?.read())?.at(-1)).toEqual(last)
  })

  it('keeps an event that is written while another process seals, once', async () => {
    // Between two of these steps the ledger has read the file and not written to it yet.
    for (let steps = 0; steps < 12; steps++) {
      const own = join(folder, `${steps}`, 'ledger.jsonl')
      const ledger = createFileLedger(own)
      await buy(ledger, now - 3 * DAY)
      const young = reserved(now)
      const appended = ledger.append(young)
      for (let n = 0; n < steps; n++) await null
      appendFileSync(own, `\n${JSON.stringify({ v: 1, type: 'sealed', at: now })}\n`)
      const count = (events: readonly LedgerEvent[]) => events.filter(({ id }) => id === young.id)
      expect(count(await appended)).toEqual([young])
      expect(count(await createFileLedger(own).read())).toEqual([young])
      expect(count(await ledger.read())).toEqual([young])
    }
  })

  it('loses nothing where a process ended at any step of the change', async () => {
    const events = Array.from({ length: 20 }, () => paid(now - 3 * DAY)).flat()
    const young = reserved(now)
    const lines = (all: readonly object[]) => all.map((it) => `\n${JSON.stringify(it)}\n`).join('')
    const seal = { v: 1, type: 'sealed', at: now }
    // Sealed, and nothing more. What was written after the seal has no effect: its writer writes it again.
    const orphan = reserved(now)
    writeFileSync(path, lines([...events, young, seal, orphan, { ...seal, at: now + 9 * DAY }]))
    const folded = foldEvents([...events, young], now)
    expect(await createFileLedger(path).read()).toEqual(folded)
    expect(names()).toEqual(['ledger.jsonl', 'ledger.jsonl.part2'])

    // A next file that was not finished has another name, and is removed.
    const whole = readFileSync(`${path}.part2`, 'utf8')
    rmSync(`${path}.part2`)
    const rest = `${path}.part2.${crypto.randomUUID()}.tmp`
    writeFileSync(rest, whole.slice(0, 40))
    expect(await createFileLedger(path).read()).toEqual(folded)
    expect(names()).toEqual(['ledger.jsonl', 'ledger.jsonl.part2'])

    // A line that was cut in the seal itself is no seal.
    appendFileSync(`${path}.part2`, `\n${JSON.stringify(seal).slice(0, -1)}`)
    const more = reserved(now)
    expect(await createFileLedger(path).append(more)).toEqual([...folded, more])

    // The file before the last one is removed when the next change is over.
    appendFileSync(`${path}.part2`, lines([seal]))
    const late = reserved(now)
    expect(await createFileLedger(path).append(late)).toEqual([...folded, more, late])
    expect(names()).toEqual(['ledger.jsonl.part2', 'ledger.jsonl.part3'])
  })
})
