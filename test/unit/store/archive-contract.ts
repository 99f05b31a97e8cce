import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Address, Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shortenDetails } from '../../../src/facilitator/exact-job.js'
import {
  type ArchivingOptions,
  archiveOld,
  listArchive,
  readArchive,
} from '../../../src/store/archive.js'
import { ArchiveError } from '../../../src/store/errors.js'
import { laneLease } from '../../../src/store/leases.js'
import type { Job } from '../../../src/store/settlement-journal.js'
import type { Stores } from '../../../src/store/stores.js'
import { aJob, anOutcome, type Engine, network, noon } from './store-contract.js'

const relayer: Address = '0x00000000000000000000000000000000000000f1'
const asset: Address = '0x3600000000000000000000000000000000000000'
const payer: Address = '0x00000000000000000000000000000000000000aa'
const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`
/** Everything below is decided by then. */
const later = noon + 1_000

/** A payment as `exact` keeps it. */
const aPayment = (n: number) =>
  aJob({
    id: `payment-${n}`,
    key: `${asset}/${payer}/${hash(n)}`,
    calldata: `0x${'c'.repeat(712)}`,
    details: JSON.stringify({
      asset,
      payer,
      payTo: relayer,
      value: '10000',
      nonce: hash(n),
      validAfter: '0',
      validBefore: '1800000060',
      signature: `0x${'5'.repeat(130)}`,
      isAlone: false,
      claimedAt: noon,
      // A text of a stranger may hold any separator.
      resourceUrl: 'https://a.example/\u2028\n"weather"',
    }),
  })

/** What every engine must do; each has its own file that calls this. */
export function describeArchive(name: string, open: () => Promise<Engine>): void {
  describe(`the archive on ${name}`, () => {
    let engine: Engine
    let stores: Stores
    let root: string
    let folder: string
    let epoch: number
    beforeEach(async () => {
      engine = await open()
      stores = engine.stores
      root = mkdtempSync(join(tmpdir(), 'arcus-archive-'))
      folder = join(root, 'deep')
      const lane = laneLease(network, relayer)
      await stores.leases.beat()
      epoch = (await stores.leases.take([lane])).get(lane) as number
    })
    afterEach(async () => {
      await engine.close()
      rmSync(root, { recursive: true })
    })

    const options = (changes: Partial<ArchivingOptions> = {}): ArchivingOptions => ({
      shelves: stores.archive.shelves(shortenDetails),
      folder,
      mayRun: () => true,
      now: () => later,
      log: { info() {}, error() {} },
      ...changes,
    })
    const archive = (changes?: Partial<ArchivingOptions>) => archiveOld(later, options(changes))
    const find = ({ kind, network, key }: Pick<Job, 'kind' | 'network' | 'key'>) =>
      stores.journal.findJob(kind, network, key) as Promise<Job>
    const isShort = async (n: number) => (await find(aPayment(n))).calldata === '0x'

    async function rowsOfFiles(): Promise<Record<string, unknown>[]> {
      const rows: Record<string, unknown>[] = []
      for (const { path } of await listArchive(folder)) {
        for await (const row of readArchive(path)) rows.push(row)
      }
      return rows
    }

    /** Signs payments into one transaction. */
    const sign = (transaction: Hex, relayerNonce: number, numbers: readonly number[]) =>
      stores.journal.recordAttempt(
        {
          hash: transaction,
          network,
          relayer,
          relayerNonce,
          rawTransaction: `0x02f8${'e'.repeat(400)}`,
          gasLimit: 200_000n,
          maxFeePerGas: 1n,
          maxPriorityFeePerGas: 1n,
          createdAt: noon,
          jobIds: numbers.map((n) => `payment-${n}`),
        },
        epoch,
      )

    /** Settles payments in one transaction of ours, and tells their success. */
    async function settle(numbers: readonly number[], transaction: Hex, relayerNonce = 5) {
      for (const n of numbers) {
        await stores.journal.claim(aPayment(n), `an Idempotency-Key of ${n}`, noon)
      }
      await sign(transaction, relayerNonce, numbers)
      await confirm(numbers, transaction, relayerNonce)
      for (const n of numbers) await tell(n)
    }

    const confirm = (numbers: readonly number[], transaction: Hex, relayerNonce = 5) =>
      stores.journal.resolve({
        slot: { network, relayer, relayerNonce, epoch },
        outcomes: numbers.map((n, i) => ({
          id: `payment-${n}`,
          round: 0,
          outcome: anOutcome({ transaction, transferLog: 2 * i + 1 }),
        })),
        now: noon,
      })

    async function tell(n: number) {
      await stores.deliveries.leaseDelivery(`payment-${n}`, 'token', 1_000)
      await stores.deliveries.completeDelivery(`payment-${n}`, 'token', `key of ${n}`, noon)
    }

    async function fail(n: number) {
      await stores.journal.claim(aPayment(n), undefined, noon)
      const outcome = anOutcome({
        state: 'failed',
        transaction: null,
        reason: 'insufficientBalance',
        message: 'The payer has too little.',
        blockNumber: null,
      })
      await stores.journal.resolve({
        outcomes: [{ id: `payment-${n}`, round: 0, outcome }],
        now: noon,
      })
    }

    it('keeps whole rows and signed transactions in files, and the journal what lookups answer', async () => {
      await settle([3, 1, 2], hash(0xa))
      const before = await stores.journal.findByTransaction(hash(0xa))
      await archive()

      const rows = await rowsOfFiles()
      expect(rows.map((row) => row.id ?? row.hash)).toEqual([
        'payment-1',
        'payment-2',
        'payment-3',
        hash(0xa),
      ])
      const { id, kind, digest, to, calldata, details } = aPayment(1)
      expect(rows[0]).toMatchObject({ id, kind, digest, to, calldata, details, state: 'confirmed' })
      expect(rows[3]).toMatchObject({
        raw_transaction: `0x02f8${'e'.repeat(400)}`,
        jobs: ['payment-3', 'payment-1', 'payment-2'],
      })
      const [payments, transactions] = await listArchive(folder)
      expect(payments).toMatchObject({ shelf: 'payments', from: '2026-11-21T12:00:00Z', rows: 3 })
      expect(transactions).toMatchObject({ shelf: 'transactions', rows: 1 })

      const after = await stores.journal.findByTransaction(hash(0xa))
      expect(after).toEqual(
        before.map((job) => ({
          ...job,
          calldata: '0x',
          details: shortenDetails(job.kind, job.details),
        })),
      )
      expect(after[0]?.details).not.toContain('signature')
      stores = await engine.reopen()
      expect(await find(aPayment(1))).toEqual(after[1])
      await archive()
      expect(await rowsOfFiles()).toHaveLength(4)
    })

    it('lets no archived payment be claimed, told or backed by the same transfer again', async () => {
      await settle([1], hash(0xa))
      await archive()
      expect(await isShort(1)).toBe(true)
      const again = { ...aPayment(1), id: 'another' }
      expect(await stores.journal.claim(again, undefined, later)).toMatchObject({
        state: 'held',
        job: { id: 'payment-1', transaction: hash(0xa) },
      })
      expect(await stores.deliveries.leaseDelivery('payment-1', 'other', 1_000)).toEqual({
        state: 'delivered',
        key: 'key of 1',
      })
      expect(await stores.deliveries.findIdempotencyKey('an Idempotency-Key of 1')).toBe(
        'payment-1',
      )
      const sameTransfer = anOutcome({ transaction: hash(0xa), transferLog: 1 })
      expect(
        await stores.journal.recordFound(aPayment(2), undefined, sameTransfer, later),
      ).toMatchObject({ state: 'failed', reason: 'transferEventMismatch' })
    })

    it('leaves what is open, young, untold, or in a transaction that may land', async () => {
      await settle([1], hash(0xa), 5)
      await stores.journal.claim(aPayment(2), undefined, noon)
      await stores.journal.claim(aPayment(3), undefined, noon)
      await sign(hash(0xb), 6, [3])
      await confirm([3], hash(0xb), 6)
      await stores.journal.claim(aPayment(4), undefined, noon)
      await sign(hash(0xc), 7, [4])
      await stores.journal.resolve({
        outcomes: [
          { id: 'payment-4', round: 0, outcome: anOutcome({ state: 'failed', transaction: null }) },
        ],
        now: noon,
      })
      await stores.journal.claim(aPayment(5), undefined, later)
      await stores.journal.recordFound(
        aPayment(6),
        undefined,
        anOutcome({ state: 'failed' }),
        later,
      )
      await archive()
      expect(await Promise.all([1, 2, 3, 4, 5, 6].map(isShort))).toEqual([
        true,
        ...Array(5).fill(false),
      ])
      expect((await rowsOfFiles()).map((row) => row.id ?? row.hash)).toEqual([
        'payment-1',
        hash(0xa),
      ])
      const open = await stores.journal.openAttempts(network, relayer)
      expect(open.map((attempt) => [attempt.hash, attempt.rawTransaction.length])).toEqual([
        [hash(0xc), 406],
      ])

      // The untold one goes when it is told.
      await tell(3)
      await archive()
      expect(await isShort(3)).toBe(true)
    })

    it('still finds a payment by a transaction that was replaced', async () => {
      await stores.journal.claim(aPayment(1), undefined, noon)
      await sign(hash(0xa), 5, [1])
      await sign(hash(0xb), 5, [1])
      await confirm([1], hash(0xb))
      await tell(1)
      await archive()
      expect(await isShort(1)).toBe(true)
      for (const transaction of [hash(0xa), hash(0xb)]) {
        const found = await stores.journal.findByTransaction(transaction)
        expect(found.map(({ id, transaction }) => [id, transaction])).toEqual([
          ['payment-1', hash(0xb)],
        ])
      }
    })

    it('lets a failed payment be settled again, whole, and archives both rounds', async () => {
      await fail(1)
      await archive()
      const short = await find(aPayment(1))
      expect(short).toMatchObject({ calldata: '0x', message: 'The payer has too little.' })
      const { id: _, ...content } = aPayment(1)
      const reopened = await stores.journal.reopen(short, aPayment(1), noon)
      expect(reopened).toMatchObject({ ...content, id: 'payment-1', round: 1, state: 'queued' })
      await archive()
      expect(await isShort(1)).toBe(false)
      await sign(hash(0xb), 6, [1])
      await stores.journal.resolve({
        slot: { network, relayer, relayerNonce: 6, epoch },
        outcomes: [
          {
            id: 'payment-1',
            round: 1,
            outcome: anOutcome({ transaction: hash(0xb), transferLog: 3 }),
          },
        ],
        now: noon,
      })
      await tell(1)
      await archive()
      expect(await isShort(1)).toBe(true)
      const rows = await rowsOfFiles()
      const rounds = rows
        .filter(({ id }) => id === 'payment-1')
        .map(({ round, state }) => [round, state])
      expect(rounds.sort()).toEqual([
        [0, 'failed'],
        [1, 'confirmed'],
      ])
    })

    it('shortens nothing that changed after it was read', async () => {
      await fail(1)
      const [payments, transactions] = options().shelves as ArchivingOptions['shelves']
      if (payments === undefined || transactions === undefined) throw new Error('two shelves')
      const slim: typeof payments.slim = async (rows, now) => {
        const failed = await find(aPayment(1))
        await stores.journal.reopen(failed, aPayment(1), noon)
        await payments.slim(rows, now)
      }
      await archive({ shelves: [{ ...payments, slim }, transactions] })
      expect(await find(aPayment(1))).toMatchObject({
        state: 'queued',
        calldata: aPayment(1).calldata,
      })
    })

    it('loses nothing when it ends between a file and its rows, or when two work at once', async () => {
      const numbers = Array.from({ length: 130 }, (_, i) => i)
      await settle(numbers, hash(0xa))
      const [payments] = options().shelves
      if (payments === undefined) throw new Error('two shelves')
      let commits = 0
      const slim: typeof payments.slim = async (rows, now) => {
        commits++
        if (commits > 2) throw new Error('the process dies')
        await payments.slim(rows, now)
      }
      await expect(archive({ shelves: [{ ...payments, slim }] })).rejects.toThrow(
        'the process dies',
      )
      writeFileSync(join(folder, 'payments-left-behind.partial'), 'half')
      await Promise.allSettled([archive(), archive()])
      await archive()
      expect((await Promise.all(numbers.map(isShort))).every(Boolean)).toBe(true)
      const whole = (await rowsOfFiles()).filter(
        ({ calldata }) => calldata === aPayment(1).calldata,
      )
      expect(new Set(whole.map(({ id }) => id)).size).toBe(130)
      expect(await stores.journal.findByTransaction(hash(0xa))).toHaveLength(130)
    })

    it('shortens nothing when its file cannot be written', async () => {
      await settle([1], hash(0xa))
      const file = `${folder}-file`
      writeFileSync(file, '')
      await expect(archive({ folder: join(file, 'archive') })).rejects.toThrow(/ENOTDIR/)
      rmSync(file)
      expect(await isShort(1)).toBe(false)
    })

    it('notices a file that is cut off, altered, renamed or not its own', async () => {
      await settle([1], hash(0xa))
      await archive()
      const [file] = await listArchive(folder)
      if (file === undefined) throw new Error('a file')
      const content = readFileSync(file.path)
      const readAll = async (path = file.path) => {
        for await (const _ of readArchive(path));
      }
      await readAll()
      truncateSync(file.path, content.length - 30)
      await expect(readAll()).rejects.toThrow(ArchiveError)
      const altered = Buffer.from(content)
      altered.writeUInt8(altered.readUInt8(200) ^ 1, 200)
      writeFileSync(file.path, altered)
      await expect(readAll()).rejects.toThrow(ArchiveError)
      writeFileSync(file.path, 'hello')
      await expect(readAll()).rejects.toThrow(ArchiveError)
      // Whole for gzip, and not what was written.
      const text = gunzipSync(content).toString()
      const remade = join(folder, 'remade.gz')
      writeFileSync(remade, gzipSync(text.slice(0, text.lastIndexOf('{"end"'))))
      await expect(readAll(remade)).rejects.toThrow('it is cut off')
      writeFileSync(remade, gzipSync(text.replace('confirmed', 'submitted')))
      await expect(readAll(remade)).rejects.toThrow('its digest differs')
      const other = file.path.replace(/[0-9a-f]{16}\.jsonl/, `${'0'.repeat(16)}.jsonl`)
      writeFileSync(other, content)
      await expect(readAll(other)).rejects.toThrow('its content does not match its name')
    })
  })
}
