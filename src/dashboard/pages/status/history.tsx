import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { StatusHistory } from '../../../api/service.js'
import { statusHistoryQuery } from '../../api/queries.js'
import { Badge } from '../../components/badge.js'
import { type Bar, Bars } from '../../components/bars.js'
import { Card, Section } from '../../components/card.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { duration } from '../../format/amounts.js'
import { absoluteTime, dayInUtc, roughSpan } from '../../format/moments.js'
import { words } from './words.js'

type Day = StatusHistory['days'][number]
type Incident = StatusHistory['incidents'][number]

const MINUTES_A_DAY = 1_440
const SHOWN_INCIDENTS = 10

const tones = { degraded: 'warn', down: 'bad', silent: 'plain' } as const

/** Shows by day whether payments could settle in 90 days, how fast they did, and what went wrong. */
export function StatusMemory() {
  const query = useQuery(statusHistoryQuery)
  return (
    <Section title={words.history.title} note={words.history.note}>
      <Loaded query={query} skeleton={<Skeleton className="h-[26rem] w-full !rounded-2xl" />}>
        {(history) => (
          <div className="space-y-4">
            <div className="grid gap-4 lg:grid-cols-2">
              <Uptime history={history} />
              <SettleTimes days={history.days} />
            </div>
            <Incidents incidents={history.incidents} />
          </div>
        )}
      </Loaded>
    </Section>
  )
}

function Uptime({ history: { days, uptime, recordedSince } }: { history: StatusHistory }) {
  const [shown, setShown] = useState<number | null>(null)
  const bars = days.map(toUptimeBar)
  const all =
    uptime === null
      ? words.history.nothing
      : recordedSince === null
        ? words.history.up(precisePercent(uptime))
        : words.history.upSince(precisePercent(uptime), dayName(recordedSince))
  return (
    <Card className="p-5">
      <h3 className="text-sm font-medium">{words.history.uptime}</h3>
      <p className="mt-1 min-h-10 text-xs text-muted tabular" aria-hidden={shown !== null}>
        {shown === null ? all : bars[shown]?.text}
      </p>
      <div className="mt-3 h-16">
        <Bars
          label={words.history.uptimeLabel}
          bars={bars}
          tones={['ok', 'warn', 'bad', 'none']}
          onShow={setShown}
        />
      </div>
      <Legend />
    </Card>
  )
}

function Legend() {
  const names = [
    ['bg-ok', words.history.legend.up],
    ['bg-warn', words.history.legend.degraded],
    ['bg-bad', words.history.legend.down],
    ['bg-line-strong', words.history.legend.silent],
  ] as const
  return (
    <p className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {names.map(([colour, name]) => (
        <span key={name} className="inline-flex items-center gap-1.5">
          <span className={`dot size-2 rounded-full ${colour}`} aria-hidden="true" /> {name}
        </span>
      ))}
    </p>
  )
}

/** A day before recording began is drawn as a day without data. */
function toUptimeBar(day: Day): Bar {
  const { at, ready, degraded, down, unknown } = day
  const noted = ready + degraded + down + unknown
  const name = dayName(at)
  return {
    key: at,
    name,
    values: noted === 0 ? [0, 0, 0, MINUTES_A_DAY] : [ready, degraded, down, unknown],
    text:
      noted === 0
        ? words.history.dayWithout(name)
        : words.history.day(
            name,
            precisePercent((ready + degraded) / noted),
            degraded,
            down,
            unknown,
          ),
  }
}

function SettleTimes({ days }: { days: readonly Day[] }) {
  const [shown, setShown] = useState<number | null>(null)
  const bars = days.map(({ at, p50Ms, p95Ms }): Bar => {
    const name = dayName(at)
    const values = [p50Ms ?? 0, Math.max(0, (p95Ms ?? 0) - (p50Ms ?? 0))]
    const text =
      p50Ms === null
        ? words.history.noPayments(name)
        : words.history.times(name, duration(p50Ms), duration(p95Ms))
    return { key: at, name, values, text }
  })
  return (
    <Card className="p-5">
      <h3 className="text-sm font-medium">{words.history.settleTime}</h3>
      <p className="mt-1 min-h-10 text-xs text-muted tabular" aria-hidden={shown !== null}>
        {shown === null ? words.history.settleTimeText : bars[shown]?.text}
      </p>
      <div className="mt-3 h-24">
        <Bars
          label={words.history.settleTimeLabel}
          bars={bars}
          tones={['accent', 'soft']}
          formatValue={(value) => duration(value)}
          onShow={setShown}
        />
      </div>
    </Card>
  )
}

function Incidents({ incidents }: { incidents: readonly Incident[] }) {
  const [isWhole, setIsWhole] = useState(false)
  const shown = isWhole ? incidents : incidents.slice(0, SHOWN_INCIDENTS)
  return (
    <Card className="px-5">
      <h3 className="border-b border-line py-3 text-sm font-medium">{words.incidents.title}</h3>
      {incidents.length === 0 ? (
        <p className="py-3 text-sm text-muted">{words.incidents.none}</p>
      ) : (
        <ul className="divide-y divide-line text-sm">
          {shown.map((incident) => (
            <IncidentLine key={incident.startedAt} incident={incident} />
          ))}
        </ul>
      )}
      {incidents.length > shown.length && (
        <button
          type="button"
          onClick={() => setIsWhole(true)}
          className="w-full border-t border-line py-3 text-xs text-muted hover:text-accent"
        >
          {words.incidents.all(incidents.length)}
        </button>
      )}
    </Card>
  )
}

function IncidentLine({ incident }: { incident: Incident }) {
  const { startedAt, endedAt, kind, reason } = incident
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-1 py-2.5">
      <span className="w-20 shrink-0">
        <Badge tone={tones[kind]}>{words.incidents.kinds[kind]}</Badge>
      </span>
      <div className="min-w-0 flex-1 basis-60">
        <p className="tabular">
          {endedAt === null
            ? words.incidents.open(absoluteTime(startedAt * 1_000))
            : words.incidents.over(absoluteTime(startedAt * 1_000), roughSpan(endedAt - startedAt))}
        </p>
        <p className="break-words text-muted">
          <UntrustedText text={reason} max={300} />
        </p>
      </div>
    </li>
  )
}

const dayName = (seconds: number) => dayInUtc(seconds * 1_000)

/** Writes `99.98%`; never rounds up, so that only all of it is 100%. */
function precisePercent(share: number): string {
  return `${Math.floor(share * 10_000) / 100}%`
}
