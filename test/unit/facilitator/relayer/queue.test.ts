import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JobProfile, TrackedJob } from '../../../../src/facilitator/relayer/jobs.js'
import { createJobQueue } from '../../../../src/facilitator/relayer/queue.js'
import { aTracking } from './tracked.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A queue with these jobs in it, in this order. */
function aQueue(...wishes: ({ id: string } & Partial<JobProfile>)[]) {
  const queue = createJobQueue()
  const { track } = aTracking()
  const entries = wishes.map(({ id, ...profile }) => track(id, profile))
  for (const entry of entries) queue.add(entry)
  const ids = (of: readonly TrackedJob[]) => of.map(({ job }) => job.id).join(' ')
  return {
    queue,
    entries,
    find: (id: string) => entries.find(({ job }) => job.id === id) as TrackedJob,
    next: () => ids(queue.next()),
    all: () => ids(queue.entries()),
    take: (most = 1, mayGo?: (it: TrackedJob) => boolean, mayLead?: (it: TrackedJob) => boolean) =>
      ids(queue.take(() => most, mayGo, mayLead)),
  }
}

const known = { standing: 'known' } as const

describe('the order of the turns', () => {
  it.each([
    ['payers', { payer: 'p' }, { payer: 'q' }],
    ['recipients', { payTo: 'p' }, { payTo: 'q' }],
    ['callers', { caller: 'p' }, { caller: 'q' }],
    ['recipients with standing', { ...known, payTo: 'p' }, { ...known, payTo: 'q' }],
    ['those with standing and all others', { ...known, payTo: 'p' }, { payTo: 'q' }],
    ['callers of one with standing', { ...known, caller: 'p' }, { ...known, caller: 'q' }],
  ])('alternates between %s', (_, one, two) => {
    const { next, take } = aQueue(
      { id: '1', ...one },
      { id: '2', ...one },
      { id: '3', ...one },
      { id: 'a', ...two },
      { id: 'b', ...two },
    )
    expect(next()).toBe('1 a 2 b 3')
    expect([take(), take(), take(), take(), take(), take()]).toEqual(['1', 'a', '2', 'b', '3', ''])
  })

  it('puts a crowd of recipients without standing behind their caller', () => {
    const crowd = Array.from({ length: 5 }, (_, i) => ({
      id: `${i}`,
      payTo: `to ${i}`,
      caller: 'x',
    }))
    const { take } = aQueue(...crowd, { id: 'a', caller: 'y' }, { id: 'b', ...known, payTo: 'z' })
    expect([take(), take(), take()]).toEqual(['0', 'b', 'a'])
  })

  it.each(['none', 'known'] as const)(
    'puts a crowd of addresses behind their block: %s',
    (standing) => {
      const crowd = [1, 2, 3].map((i) => ({ id: `${i}`, caller: `192.0.2.${i}`, standing }))
      const others = ['198.51.100.1', '2001:db8:1::/48', '2001:db8:2::/48', '']
      const { take } = aQueue(
        ...crowd,
        ...others.map((caller, i) => ({ id: 'abcd'[i] as string, caller, standing })),
      )
      expect(Array.from({ length: 7 }, () => take())).toEqual(['1', 'a', 'b', 'c', 'd', '2', '3'])
    },
  )

  it('keeps the turn of a caller for what travels alone, while others of its payments are served', () => {
    const crowd = ['v', 'w', 'x', 'y'].flatMap((caller) =>
      [1, 2, 3].map((i) => ({ id: `${caller}${i}`, caller, isSingle: true })),
    )
    const { take } = aQueue(
      ...crowd,
      { id: 'single', caller: 'z', isSingle: true },
      ...[1, 2, 3, 4, 5].map((i) => ({ id: `${i}`, caller: 'z' })),
    )
    const shares = (it: TrackedJob) => it.isSingle !== true
    const rounds = [1, 2, 3, 4, 5].map(() => [take(1, shares), take(1, (it) => !shares(it))])
    expect(rounds.map(([shared]) => shared)).toEqual(['1', '2', '3', '4', '5'])
    expect(rounds.map(([, single]) => single)).toEqual(['v1', 'w1', 'x1', 'y1', 'single'])
  })

  it('keeps the turn of a payer whose job is taken out without being sent', () => {
    const served = aQueue({ id: '1', payer: 'p' }, { id: '2', payer: 'p' }, { id: 'a', payer: 'q' })
    served.take()
    expect(served.next()).toBe('a 2')
    const kept = aQueue({ id: '1', payer: 'p' }, { id: '2', payer: 'p' }, { id: 'a', payer: 'q' })
    expect(kept.queue.takeOut(kept.find('1'))).toBe(true)
    expect(kept.next()).toBe('2 a')
  })

  it('looks at two hundred jobs of a payer, though all wait', () => {
    const many = Array.from({ length: 201 }, (_, i) => ({ id: `${i}` }))
    const { queue } = aQueue(...many)
    expect(queue.next()).toHaveLength(200)
    expect(queue.entries()).toHaveLength(201)
    expect(queue.length()).toBe(201)
  })
})

describe('a transaction', () => {
  it('takes as many as fit that may go, with the first of them', () => {
    const jobs = ['a', 'b', 'c', 'd'].map((id) => ({ id }))
    expect(aQueue(...jobs).take(3)).toBe('a b c')
    expect(aQueue(...jobs).take(3, ({ job }) => job.id !== 'a' && job.id !== 'c')).toBe('b d')
    expect(aQueue(...jobs).take(3, () => false)).toBe('')
  })

  it('is led by one that may, else by the first that may go', () => {
    const jobs = ['a', 'b', 'c'].map((id) => ({ id }))
    const isLast = ({ job }: TrackedJob) => job.id === 'c'
    expect(aQueue(...jobs).take(2, undefined, isLast)).toBe('c a')
    expect(aQueue(...jobs).take(2, ({ job }) => job.id === 'b', isLast)).toBe('b')
  })

  it.each([
    ['must be alone', { isAlone: true }],
    ['is sent alone', { isSingle: true }],
  ])('has no other where one %s', (_, profile) => {
    expect(aQueue({ id: 'a', ...profile }, { id: 'b' }).take(5)).toBe('a')
    expect(aQueue({ id: 'a' }, { id: 'b', ...profile }, { id: 'c' }).take(5)).toBe('a c')
  })

  it('is shared by those of the same multicall', () => {
    const through = `0x${'77'.repeat(20)}` as const
    const { take } = aQueue({ id: 'a', through }, { id: 'b' }, { id: 'c', through })
    expect([take(5), take(5)]).toEqual(['a c', 'b'])
  })
})

describe('a job', () => {
  it('waits, is in hand, rests or is gone, and only one of these', async () => {
    const { queue, find, next } = aQueue({ id: 'a' })
    const entry = find('a')
    const state = () => [next(), queue.has(entry), queue.isInHand(entry), queue.length()]
    expect(state()).toEqual(['a', true, false, 1])
    queue.add(entry)
    expect(state()).toEqual(['a', true, false, 1])
    expect([queue.takeOut(entry), queue.takeOut(entry)]).toEqual([true, false])
    expect(state()).toEqual(['', true, true, 0])
    queue.add(entry)
    expect(state()).toEqual(['', true, true, 0])
    queue.putBack(entry, 200)
    expect(state()).toEqual(['', true, false, 0])
    queue.add(entry)
    await vi.advanceTimersByTimeAsync(199)
    expect(state()).toEqual(['', true, false, 0])
    await vi.advanceTimersByTimeAsync(1)
    expect(state()).toEqual(['a', true, false, 1])
    queue.takeOut(entry)
    queue.putBackAlone(entry)
    expect([...state(), entry.isAlone]).toEqual(['a', true, false, 1, true])
    queue.takeOut(entry)
    queue.letGo(entry)
    expect(state()).toEqual(['', false, false, 0])
  })

  it('that waits or rests is not put back a second time', async () => {
    const { queue, find, all } = aQueue({ id: 'a' }, { id: 'b' })
    queue.putBack(find('a'), 200)
    expect(all()).toBe('a b')
    queue.takeOut(find('a'))
    queue.putBack(find('a'), 200)
    queue.putBack(find('a'), 0)
    expect(all()).toBe('b')
    await vi.advanceTimersByTimeAsync(1_000)
    expect([all(), queue.length()]).toEqual(['b a', 2])
  })
})

it('a caller hears when a job comes, comes back, or may be able to go', async () => {
  const { queue, find } = aQueue({ id: 'a' })
  const heardAfter = async (change: () => void) => {
    let isHeard = false
    void queue.untilChange().then(() => {
      isHeard = true
    })
    await vi.advanceTimersByTimeAsync(0)
    if (isHeard) return 'before'
    change()
    await vi.advanceTimersByTimeAsync(0)
    return isHeard
  }
  expect(await heardAfter(() => queue.add(find('a')))).toBe(true)
  expect(await heardAfter(() => queue.noteChange())).toBe(true)
  expect(await heardAfter(() => queue.takeOut(find('a')))).toBe(false)
  expect(await heardAfter(() => queue.putBack(find('a')))).toBe(true)
})
