import type { LaneStatus, NetworkStatus, ServiceStatus } from '@arcus/protocol/answers/service'
import { useQuery } from '@tanstack/react-query'
import { statusQuery } from '../../api/queries.js'
import { Badge } from '../../components/badge.js'
import { TextLink } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Latency, Stat } from '../../components/facts.js'
import { Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment, useIsOld } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { DataTable, type TableColumn } from '../../components/table.js'
import { Hex } from '../../components/untrusted-text.js'
import { counted, exactCount, percent } from '../../format/amounts.js'
import { roughSpan } from '../../format/moments.js'

/** Shows the state of the service, read again every five seconds. */
export function StatusPage() {
  const query = useQuery(statusQuery)
  return (
    <>
      <PageTitle title="Status">Whether payments settle now, and how they settled today.</PageTitle>
      <Loaded query={query} skeleton={<Skeleton isCard className="h-72 w-full" />}>
        {(status) => (
          <div className="space-y-10">
            <Headline status={status} readAt={query.dataUpdatedAt} />
            <LastDay {...status.settling.day} />
            {status.networks.map((network) => (
              <NetworkSection
                key={network.network}
                network={network}
                isReadable={isReadable(network, status)}
              />
            ))}
          </div>
        )}
      </Loaded>
    </>
  )
}

/** Returns whether the chain of a network can be read. While it cannot, nothing is known about its wallets. */
function isReadable({ network, block }: NetworkStatus, { checks }: ServiceStatus): boolean {
  return block !== null && checks.every(({ name, ok }) => ok || name !== `chain ${network}`)
}

interface ServiceStanding {
  tone: 'ok' | 'warn' | 'bad'
  title: string
}

/** Says in a few words whether payments settle now: fully, with a part of the wallets, or not at all. */
function standingOf({ status, checks, networks }: ServiceStatus): ServiceStanding {
  if (status !== 'ready') return { tone: 'bad', title: 'Payments cannot settle' }
  for (const { name, lanes } of networks) {
    const ready = readyOf(lanes)
    if (ready === lanes.length) continue
    const place = networks.length > 1 ? ` on ${name}` : ''
    const title = `Degraded: ${ready} of ${lanes.length} relayers are ready${place}`
    return { tone: 'warn', title }
  }
  const hasWarning = checks.some(({ warning }) => warning === true)
  return hasWarning
    ? { tone: 'warn', title: 'Payments settle, with a warning' }
    : { tone: 'ok', title: 'Payments settle' }
}

const readyOf = (lanes: readonly LaneStatus[]) =>
  lanes.filter(({ state }) => state === 'open').length

const tones = {
  ok: ['bg-ok', 'border-line'],
  warn: ['bg-warn', 'border-warn'],
  bad: ['bg-bad', 'border-bad'],
} as const

/** Shows whether payments settle now, and why not. An answer that is old is not shown as the state of now. */
function Headline({ status, readAt }: { status: ServiceStatus; readAt: number }) {
  const isOld = useIsOld(readAt)
  const known = standingOf(status)
  const [dot, border] = tones[isOld ? 'warn' : known.tone]
  const problems = status.checks.filter(({ ok, warning }) => !ok || warning === true)
  const upSeconds = (Date.parse(status.now) - Date.parse(status.startedAt)) / 1_000
  return (
    <section className={`rounded-2xl border bg-raised px-5 py-5 shadow-card ${border}`}>
      <div className="flex items-start gap-4">
        <span className={`dot mt-2 size-3 shrink-0 rounded-full ${dot}`} aria-hidden="true" />
        <div>
          <h2 aria-live="polite" className="text-xl font-semibold tracking-tight">
            {isOld ? 'Not known at this moment' : known.title}
          </h2>
          <p className="text-sm text-muted">
            {isOld && `When last read: ${known.title}. `}
            Up for {roughSpan(upSeconds)}, version {status.version}. Read <Moment at={readAt} />.
          </p>
        </div>
      </div>
      {problems.length > 0 && (
        <ul className="mt-4 space-y-1 border-t border-line pt-4 text-sm">
          {problems.map(({ name, ok, detail }) => (
            <li key={name}>
              <Badge tone={ok ? 'warn' : 'bad'}>{name}</Badge>{' '}
              <span className="break-words text-muted">{grouped(detail)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

const ADDRESS = /^0x[0-9a-fA-F]{40} /

/** Says once what a check says of several wallets: `3 wallets cannot be read`. */
function grouped(detail: string): string {
  const wallets = new Map<string, number>()
  for (const part of detail.split('; ')) {
    const text = part.replace(ADDRESS, '')
    wallets.set(text, (wallets.get(text) ?? 0) + 1)
  }
  const parts = detail.split('; ').map((part) => {
    const text = part.replace(ADDRESS, '')
    const count = wallets.get(text) ?? 1
    return count === 1 ? part : `${count} wallets ${text}`
  })
  return [...new Set(parts)].join('; ')
}

function LastDay({ settled, failed, refunds, ...figures }: ServiceStatus['settling']['day']) {
  const refunded = counted(refunds, { one: '# refund', other: '# refunds' }, exactCount)
  return (
    <Section title="Last 24 hours">
      <Card className="p-5">
        <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-4">
          <Stat
            name="Payments"
            value={exactCount(settled)}
            note={refunds > 0 ? refunded : undefined}
          />
          <Stat name="Failed" value={exactCount(failed)} />
          <Stat name="Success rate" value={percent(figures.successRate)} />
          <Latency name="Settle time" p50={figures.p50Ms} p95={figures.p95Ms} />
        </dl>
        <p className="mt-4 text-xs text-muted">
          With paid checks of Arcus and payments of sellers to themselves, which{' '}
          <TextLink href="/payments">the list of payments</TextLink> leaves out.
        </p>
      </Card>
    </Section>
  )
}

const NOTHING = '–'

function NetworkSection({ network, isReadable }: { network: NetworkStatus; isReadable: boolean }) {
  const { name, block, queueLength, lanes, runwayDays } = network
  const runwayNote = runwayDays === null ? 'too little spent to estimate' : 'at the pace of today'
  return (
    <Section title={name} note={<span className="font-mono text-xs">{network.network}</span>}>
      <Card>
        <dl className="grid grid-cols-2 gap-x-6 gap-y-5 p-5 sm:grid-cols-4">
          <Stat
            name="Last block"
            value={block === null ? NOTHING : exactCount(block.number)}
            note={
              block === null ? 'the chain cannot be read' : `${roughSpan(block.ageSeconds)} old`
            }
          />
          <Stat name="Queue" value={exactCount(queueLength)} />
          <Stat
            name="Relayers ready"
            value={isReadable ? `${readyOf(lanes)} of ${lanes.length}` : NOTHING}
            note={isReadable ? undefined : 'not known'}
          />
          <Stat
            name="Gas lasts"
            value={runwayDays === null || !isReadable ? NOTHING : roughSpan(runwayDays * 86_400)}
            note={isReadable ? runwayNote : 'not known'}
          />
        </dl>
        <div className="border-t border-line">
          <DataTable
            label="Relayers"
            columns={laneColumns(network.network, isReadable)}
            rows={lanes}
            keyOf={({ address }) => address}
          />
        </div>
      </Card>
    </Section>
  )
}

const laneStates = {
  open: ['ok', 'ready'],
  unfunded: ['warn', 'needs gas'],
  closed: ['bad', 'closed'],
} as const

/** The relayer wallets. Each sends its own transactions in order. */
function laneColumns(network: string, isReadable: boolean): TableColumn<LaneStatus>[] {
  return [
    {
      name: 'Relayer',
      cell: ({ address }) => <Hex hex={address} kind="address" network={network} />,
    },
    {
      name: 'State',
      cell: ({ state, reason }) => {
        const [tone, name] = isReadable ? laneStates[state] : (['plain', 'not known'] as const)
        return (
          <>
            <Badge tone={tone}>{name}</Badge>
            {reason !== null && (
              <p className="mt-1 max-w-xs text-xs whitespace-normal text-muted">{reason}</p>
            )}
          </>
        )
      },
    },
    { name: 'In flight', cell: ({ inFlight }) => inFlight },
    {
      name: 'Gas left',
      cell: ({ balanceUsd }) => (balanceUsd === null ? NOTHING : <Usd usd={balanceUsd} />),
    },
  ]
}
