/** A block became visible to polls that were sent after `after`, and at the latest to one sent `by`; milliseconds. */
interface Sighting {
  number: number
  after: number
  by: number
}

/** The times between which a block is expected, milliseconds, and the time from block to block. */
export interface DueBlock {
  from: number
  to: number
  periodMs: number
}

/** The same of one block that was seen. */
interface RhythmLine extends DueBlock {
  number: number
}

/** Sightings from which the rhythm is read. */
const MAX_SIGHTINGS = 24
const LEAST_SIGHTINGS = 6
/** Blocks in a row that came when they were due, before the rhythm is relied on. */
const LEAST_HITS = 3
/** Faster blocks are found by polling alone; slower ones wait for nobody's milliseconds. */
const SHORTEST_MS = 100
const LONGEST_MS = 20_000
/** Times that the range in which the period lies is made a third smaller. */
const REFINEMENTS = 24
/** A block this much outside its time is a hit all the same; milliseconds. */
const TOLERANCE_MS = 25

/**
 * Learns from polls when blocks come: their period, and the moment of the next. Each new head bounds the moment at which its
 * block appeared, by the last poll without it and the first one with it. The rhythm is the line that fits all these
 * bounds. A chain without a rhythm has none here, and a block out of rhythm ends it until it is learned again.
 */
export class BlockRhythm {
  #sightings: Sighting[] = []
  /** The time of the last poll that showed nothing new. */
  #absentAt = Number.NEGATIVE_INFINITY
  #hits = 0
  #line: RhythmLine | undefined

  /** Notes the newest block that a poll showed, and when it was sent, in milliseconds of a clock that nobody sets. */
  note(number: number, sentAt: number): void {
    const last = this.#sightings.at(-1)
    if (last === undefined || number < last.number) {
      this.#sightings = [{ number, after: this.#absentAt, by: sentAt }]
      this.#forget()
    } else if (number > last.number) {
      this.#see({ number, after: this.#absentAt, by: sentAt })
    }
    this.#absentAt = sentAt
  }

  /** Returns when the block of this number is expected; `undefined` while there is no rhythm to rely on. */
  due(number: number): DueBlock | undefined {
    return this.#hits < LEAST_HITS ? undefined : this.#expect(number)
  }

  #see(sighting: Sighting): void {
    const due = this.#expect(sighting.number)
    if (due !== undefined) {
      const early = due.from - sighting.by
      const late = sighting.after - due.to
      const missedBy = Math.max(early, late)
      if (missedBy > Math.max(TOLERANCE_MS, due.periodMs / 4)) this.#sightings = []
      this.#hits = missedBy <= TOLERANCE_MS ? this.#hits + 1 : 0
    }
    this.#sightings = [...this.#sightings, sighting].slice(-MAX_SIGHTINGS)
    this.#line = readLine(this.#sightings)
    if (this.#line === undefined) this.#forget()
  }

  #expect(number: number): DueBlock | undefined {
    if (this.#line === undefined) return undefined
    const { periodMs } = this.#line
    const passed = (number - this.#line.number) * periodMs
    return { from: this.#line.from + passed, to: this.#line.to + passed, periodMs }
  }

  #forget(): void {
    this.#line = undefined
    this.#hits = 0
  }
}

/** Reads the line through the bounds; `undefined` where they show no rhythm. */
function readLine(sightings: readonly Sighting[]): RhythmLine | undefined {
  const bounded = sightings.filter(({ after }) => Number.isFinite(after))
  const [first] = bounded
  const last = bounded.at(-1)
  if (bounded.length < LEAST_SIGHTINGS || first === undefined || last === undefined)
    return undefined
  const blocks = last.number - first.number
  let least = (last.after - first.by) / blocks
  let most = (last.by - first.after) / blocks
  for (let i = 0; i < REFINEMENTS; i++) {
    const third = (most - least) / 3
    if (slackOf(least + third) < slackOf(most - third)) least += third
    else most -= third
  }
  const periodMs = (least + most) / 2
  const { earliest, latest } = boundsOf(periodMs)
  const from = Math.min(earliest, latest)
  const to = Math.max(earliest, latest)
  const isRhythm = periodMs >= SHORTEST_MS && periodMs <= LONGEST_MS && to - from <= periodMs / 2
  return isRhythm ? { number: last.number, from, to, periodMs } : undefined

  /** Returns by how much the bounds leave room for a period; less than nothing where blocks came early or late. */
  function slackOf(period: number): number {
    const { earliest, latest } = boundsOf(period)
    return latest - earliest
  }

  /** Returns when the last block came, if the period is right. One bound of each kind may be wrong: a block may be late. */
  function boundsOf(period: number) {
    const shift = ({ number }: Sighting) => ((last as Sighting).number - number) * period
    const [, earliest = 0] = bounded.map((it) => it.after + shift(it)).sort((a, b) => b - a)
    const [, latest = 0] = bounded.map((it) => it.by + shift(it)).sort((a, b) => a - b)
    return { earliest, latest }
  }
}
