import { useQuery } from '@tanstack/react-query'
import type {
  LaneStatus,
  NetworkStatus,
  ServiceStatus,
  SettlingStatus,
} from '../../../api/service.js'
import { statusQuery } from '../../api/queries.js'
import { Badge } from '../../components/badge.js'
import { Card, Section } from '../../components/card.js'
import { Latency, Stat, Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment, useIsOld } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { type Column, DataTable } from '../../components/table.js'
import { Hex } from '../../components/untrusted-text.js'
import { exactCount, percent } from '../../format/amounts.js'
import { roughSpan } from '../../format/moments.js'
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
