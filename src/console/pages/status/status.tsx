import type {
  LaneStatus,
  NetworkStatus,
  NodeStatus,
  ServiceStatus,
} from '@arcus/protocol/answers/service'
import { useQuery } from '@tanstack/react-query'
import { statusQuery } from '../../api/queries.js'
import { Badge, Dot } from '../../components/badge.js'
import { TextLink } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Latency, Stat } from '../../components/facts.js'
import { Usd } from '../../components/figures.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment, useIsOld } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { DataTable, type TableColumn } from '../../components/table.js'
import { Hex } from '../../components/untrusted-text.js'
import { counted, duration, exactCount, percent } from '../../format/amounts.js'
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
            <Parts status={status} readAt={query.dataUpdatedAt} />
            <LastDay {...status.settling.day} />
            {status.networks.map((network) => (
              <NetworkSection
                key={network.network}
                network={network}
                readAt={query.dataUpdatedAt}
                canRead={isReadable(network, status)}
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
  const upSeconds = (Date.parse(status.now) - Date.parse(status.startedAt)) / 1_000
  return (
    <section className={`rounded-2xl border bg-raised px-5 py-5 ${border}`}>
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
    return count === 1 ? part : `${count} wallets ${text.replace(/^holds/, 'hold')}`
  })
  return [...new Set(parts)].join('; ')
}

/** The repairs of parts of the service that do not work, by the beginning of their names. */
const repairs = [
  [
    'journal',
    'Check the disk, or the database server. Payments wait until the journal can be written.',
  ],
  ['leases', 'Check the database server and the network to it.'],
  ['disk', 'Make room: nothing but payments is kept.'],
  ['chain', 'Ask the operators of the nodes below, or name another node in the settings.'],
  ['relayers', 'Send USDC to the wallets below that need gas; a closed lane says why.'],
  ['directory', 'Payments go on. It starts again by itself; if it does not, its log says why.'],
  ['facilitator', 'Start the half that settles payments; its log says why it does not answer.'],
] as const

/** Shows every part of the service with its state, and what to do about one that does not work. */
function Parts({ status, readAt }: { status: ServiceStatus; readAt: number }) {
  const isOld = useIsOld(readAt)
  return (
    <Section title="Parts">
      <Card>
        <ul className="divide-y divide-line text-sm">
          {status.checks.map(({ name, ok, warning, detail }) => {
            const isGood = ok && warning !== true
            const repair = repairs.find(([start]) => name.startsWith(start))?.[1]
            const tone = isOld ? 'plain' : ok ? (isGood ? 'ok' : 'warn') : 'bad'
            const state = isOld ? 'not known' : ok ? (isGood ? 'works' : 'warning') : 'fails'
            return (
              <li key={name} className="flex flex-wrap items-baseline gap-x-4 gap-y-1 px-5 py-2.5">
                <span className="w-44 shrink-0 font-medium">{partName(name)}</span>
                <span className="w-20 shrink-0">
                  <Dot tone={tone}>{state}</Dot>
                </span>
                <span className="min-w-0 flex-1 basis-64 break-words text-muted">
                  {grouped(detail)}
                  {!isGood && !isOld && repair !== undefined && (
                    <span className="block text-ink">{repair}</span>
                  )}
                </span>
              </li>
            )
          })}
        </ul>
        <p className="border-t border-line px-5 py-3 text-xs text-muted">
          For the operator: the runbook has a cure for{' '}
          <TextLink href="/operations#alerts">each alert</TextLink> and for{' '}
          <TextLink href="/operations#what-can-fail">each fault</TextLink>.{' '}
          <TextLink href="/how-it-works">How a payment settles</TextLink> is for everybody.
        </p>
      </Card>
    </Section>
  )
}

/** Names a part as people say it; checks of a network keep its name. */
function partName(check: string): string {
  const [part = '', ...rest] = check.split(' ')
  const names: Record<string, string> = {
    disk: 'Disk',
    leases: 'Leases',
    facilitator: 'Facilitator',
    journal: 'Journal of payments',
    chain: 'Chain',
    relayers: 'Relayer lanes',
    directory: 'Directory thread',
  }
  return [names[part] ?? part, ...rest].join(' ')
}

function LastDay({ settled, own, failed, refunds, ...figures }: ServiceStatus['settling']['day']) {
  const refundNote =
    refunds === 0 ? '' : counted(refunds, { one: '# refund', other: '# refunds' }, exactCount)
  const ownNote = own === 0 ? '' : `and ${exactCount(own)} paid checks and own payments`
  return (
    <Section title="Last 24 hours">
      <Card className="p-5">
        <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-4">
          <Stat
            name="Payments"
            value={exactCount(settled)}
            note={[ownNote, refundNote].filter((it) => it !== '').join(', ') || 'by buyers'}
          />
          <Stat name="Failed" value={exactCount(failed)} />
          <Stat name="Success rate" value={percent(figures.successRate)} />
          <Latency name="Settle time" p50={figures.p50Ms} p95={figures.p95Ms} />
        </dl>
      </Card>
    </Section>
  )
}

const NOTHING = '–'

function NetworkSection({
  network,
  readAt,
  canRead,
}: {
  network: NetworkStatus
  readAt: number
  canRead: boolean
}) {
  const { name, block, queueLength, nodes, lanes, runwayDays } = network
  // Nothing is ready while nobody knows.
  const isOld = useIsOld(readAt)
  const isReadable = canRead && !isOld
  const isPaid = lanes.some(({ balanceUsd }) => balanceUsd !== null)
  const spent = runwayDays === null ? 'too little spent to estimate' : 'at the pace of today'
  const runwayNote = isPaid ? spent : 'not read yet'
  return (
    <Section title={name} note={<span className="font-mono text-xs">{network.network}</span>}>
      <Card>
        <dl className="grid grid-cols-2 gap-x-6 gap-y-5 p-5 sm:grid-cols-4">
          <Stat
            name="Last block"
            value={block === null ? NOTHING : exactCount(block.number)}
            note={
              block === null
                ? 'the chain cannot be read'
                : isOld
                  ? 'when last read'
                  : `${roughSpan(block.ageSeconds)} old`
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
            label={`Nodes of ${name}`}
            columns={nodeColumns(isOld)}
            rows={nodes.map((node, index) => ({ ...node, index }))}
            keyOf={({ index }) => index}
          />
        </div>
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

/** The nodes of the chain, which are asked in this order. */
function nodeColumns(isOld: boolean): TableColumn<NodeStatus & { index: number }>[] {
  return [
    { name: 'Node', cell: ({ host }) => <span className="font-mono text-xs">{host}</span> },
    {
      name: 'State',
      cell: ({ answers }) => {
        if (isOld || answers === null) return <Badge>not known</Badge>
        return answers ? <Badge tone="ok">answers</Badge> : <Badge tone="bad">no answer</Badge>
      },
    },
    { name: 'Last call', cell: ({ at }) => (at === null ? NOTHING : <Moment at={at} />) },
    { name: 'Took', cell: ({ ms }) => duration(ms) },
  ]
}

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
      cell: ({ balanceUsd }) => (balanceUsd === null ? 'not read yet' : <Usd usd={balanceUsd} />),
    },
  ]
}
