import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type {
  LaneStatus,
  NetworkStatus,
  ServiceStatus,
  SettlingStatus,
  StatusHistory,
} from '../../../api/service.js'
import { statusHistoryQuery, statusQuery } from '../../api/queries.js'
import { Badge } from '../../components/badge.js'
import { type Bar, Bars } from '../../components/bars.js'
import { Card, Section } from '../../components/card.js'
import { Latency, Stat, Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment, useIsOld } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { type Column, DataTable } from '../../components/table.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { duration, exactCount, percent } from '../../format/amounts.js'
import { absoluteTime, dayInUtc, roughSpan } from '../../format/moments.js'
import { standingOf } from '../../format/standing.js'
import { words } from './words.js'

/** Shows the state of the service, read again every five seconds. */
export function StatusPage() {
  const query = useQuery(statusQuery)
  return (
    <>
      <PageTitle title={words.title}>{words.lead}</PageTitle>
      <Loaded query={query} isLive skeleton={<Skeleton className="h-72 w-full !rounded-2xl" />}>
        {(status) => <StatusReport status={status} readAt={query.dataUpdatedAt} />}
      </Loaded>
    </>
  )
}

const standings = {
  ok: ['bg-ok', ''],
  warn: ['bg-warn', '!border-warn'],
  bad: ['bg-bad', '!border-bad'],
} as const

/** Shows whether payments settle now. An answer that is old is not shown as the present state. */
function Headline({ status, readAt }: { status: ServiceStatus; readAt: number }) {
  const isOld = useIsOld(readAt)
  const known = standingOf(status)
  const { tone, title } = isOld ? { tone: 'warn' as const, title: words.unknown } : known
  const [dot, border] = standings[tone]
  const problems = status.checks.filter(({ ok, warning }) => !ok || warning === true)
  return (
    <Card className={`px-5 py-5 ${border}`}>
      <div className="flex items-start gap-4">
        <span className={`dot mt-1.5 size-3 shrink-0 rounded-full ${dot}`} aria-hidden="true" />
        <div>
          <p role="status" className="text-lg font-semibold tracking-tight">
            {title}
          </p>
          <p className="text-sm text-muted">
            {isOld && words.before(known.title)}{' '}
            <Sentence
              text={words.running}
              parts={{
                span: roughSpan((Date.parse(status.now) - Date.parse(status.startedAt)) / 1_000),
                version: status.version,
                when: <Moment at={readAt} />,
              }}
            />
          </p>
        </div>
      </div>
      {problems.length > 0 && (
        <ul className="mt-4 space-y-1 border-t border-line pt-4 text-sm">
          {problems.map(({ name, ok, detail }) => (
            <li key={name}>
              <Badge tone={ok ? 'warn' : 'bad'}>{name}</Badge>{' '}
              <span className="break-words text-muted">{detail}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function StatusReport({ status, readAt }: { status: ServiceStatus; readAt: number }) {
  return (
    <div className="space-y-10">
      <Headline status={status} readAt={readAt} />
      <div className="grid gap-6 lg:grid-cols-2">
        <Settling title={words.settling.hour} settling={status.settling.hour} />
        <Settling title={words.settling.day} settling={status.settling.day} />
      </div>
      <StatusMemory />
      {status.networks.map((network) => (
        <NetworkSection key={network.network} network={network} />
      ))}
      <Section title={words.checks.title}>
        <Card className="px-5">
          <ul className="divide-y divide-line text-sm">
            {status.checks.map(({ name, ok, warning = false, detail }) => (
              <li key={name} className="flex flex-wrap items-baseline gap-x-4 gap-y-1 py-2.5">
                <span className="w-40 shrink-0 font-medium">{name}</span>
                <Badge tone={!ok ? 'bad' : warning ? 'warn' : 'ok'}>
                  {words.checks[!ok ? 'failing' : warning ? 'warning' : 'ok']}
                </Badge>
                <ul className="min-w-0 flex-1 basis-48 break-words text-muted">
                  {detail.split('; ').map((part) => (
                    <li key={part}>{part}</li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </Card>
      </Section>
    </div>
  )
}

function Settling({ title, settling }: { title: string; settling: SettlingStatus }) {
  return (
    <Card className="p-5">
      <h2 className="mb-4 text-sm font-medium">{title}</h2>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-3">
        <Stat
          name={words.settling.settled}
          value={exactCount(settling.settled)}
          note={
            settling.refunds > 0
              ? words.settling.failedAndRefunds(settling.failed, settling.refunds)
              : words.settling.failed(settling.failed)
          }
        />
        <Stat name={words.settling.successRate} value={percent(settling.successRate)} />
        <Latency name={words.settling.settleTime} p50={settling.p50Ms} p95={settling.p95Ms} />
        <Stat name={words.settling.verified} value={exactCount(settling.verifies)} />
        <Latency
          name={words.settling.verifyTime}
          p50={settling.verifyP50Ms}
          p95={settling.verifyP95Ms}
        />
      </dl>
    </Card>
  )
}

function NetworkSection({ network }: { network: NetworkStatus }) {
  const { name, block, queueLength, lanes, runwayDays } = network
  return (
    <Section title={name} note={<span className="font-mono text-xs">{network.network}</span>}>
      <Card>
        <dl className="grid grid-cols-2 gap-x-6 gap-y-5 p-5 sm:grid-cols-4">
          <Stat
            name={words.network.block}
            value={block === null ? words.network.nothing : exactCount(block.number)}
            note={
              block === null
                ? words.network.unreadable
                : words.network.age(roughSpan(block.ageSeconds))
            }
          />
          <Stat name={words.network.queue} value={exactCount(queueLength)} />
          <Stat
            name={words.network.working}
            value={words.network.workingOf(
              lanes.filter(({ state }) => state === 'open').length,
              lanes.length,
            )}
          />
          <Stat
            name={words.network.runway}
            value={runwayDays === null ? words.network.nothing : roughSpan(runwayDays * 86_400)}
            title={runwayDays === null ? undefined : words.network.days(Math.floor(runwayDays))}
            note={runwayDays === null ? words.network.unknownRate : words.network.rate}
          />
        </dl>
        <div className="border-t border-line">
          <DataTable
            label={words.wallets.title}
            columns={laneColumns(network.network)}
            rows={lanes}
            keyOf={({ address }) => address}
          />
        </div>
      </Card>
    </Section>
  )
}

const tones = { open: 'ok', unfunded: 'warn', closed: 'bad' } as const

/** The relayer wallets. Each sends its own transactions in order. */
function laneColumns(network: string): Column<LaneStatus>[] {
  return [
    {
      name: words.wallets.wallet,
      cell: ({ address }) => <Hex hex={address} kind="address" network={network} />,
    },
    {
      name: words.wallets.state,
      cell: ({ state, reason }) => (
        <>
          <Badge tone={tones[state]}>{words.wallets.states[state]}</Badge>
          {reason !== null && (
            <p className="mt-1 max-w-xs text-xs whitespace-normal text-muted">{reason}</p>
          )}
        </>
      ),
    },
    { name: words.wallets.inFlight, cell: ({ inFlight }) => inFlight },
    {
      name: words.wallets.oldest,
      cell: ({ inFlight, oldestPendingSeconds }) =>
        inFlight === 0 ? words.network.nothing : roughSpan(oldestPendingSeconds),
    },
    {
      name: words.wallets.gas,
      cell: ({ balanceUsd }) =>
        balanceUsd === null ? words.network.nothing : <Usd usd={balanceUsd} />,
    },
  ]
}

type Day = StatusHistory['days'][number]
type Incident = StatusHistory['incidents'][number]

const MINUTES_A_DAY = 1_440
const SHOWN_INCIDENTS = 10

const incidentTones = { degraded: 'warn', down: 'bad', silent: 'plain' } as const

/** Shows by day whether payments could settle in 90 days, how fast they did, and what went wrong. */
function StatusMemory() {
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
        <Badge tone={incidentTones[kind]}>{words.incidents.kinds[kind]}</Badge>
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
