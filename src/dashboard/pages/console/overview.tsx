import { useQuery } from '@tanstack/react-query'
import { useConnection } from 'wagmi'
import { Link } from 'wouter'
import type { OwnedMerchant } from '../../../api/listings.js'
import { merchantTotalsQuery, ownedQuery } from '../../api/queries.js'
import { Badge, Dot } from '../../components/badge.js'
import { ButtonLink } from '../../components/button.js'
import { Card, Empty, Notice, Section } from '../../components/card.js'
import { Usd } from '../../components/figures.js'
import { Glyph, Icon } from '../../components/icons.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { Moment, When } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { exactCount, percent, shortCount } from '../../format/amounts.js'
import { isBlank } from './editor/draft.js'
import { readDraft } from './editor/use-draft.js'
import { words as all } from './words.js'

const words = all.overview

/** Lists the listings that the connected wallet owns, is offered or may claim. */
export function Overview() {
  const { address } = useConnection()
  return (
    <>
      <PageTitle
        title={words.title}
        aside={
          <ButtonLink href="/console/new" variant="primary">
            <Icon name="plus" size={14} />
            {words.list}
          </ButtonLink>
        }
      >
        {words.lead}
      </PageTitle>
      <div className="space-y-10">
        <OpenDraft />
        {address === undefined ? <Steps /> : <Owned address={address} />}
      </div>
    </>
  )
}

function OpenDraft() {
  const kept = readDraft('new')
  if (kept === undefined || isBlank(kept.draft)) return null
  const name = kept.draft.name || kept.draft.endpoints[0]?.url || words.unnamed
  return (
    <Notice
      title={words.draft}
      action={
        <ButtonLink size="sm" href="/console/new">
          {words.continueDraft}
        </ButtonLink>
      }
    >
      <Sentence
        text={words.savedDraft}
        parts={{ name: <UntrustedText text={name} max={80} />, when: <Moment at={kept.savedAt} /> }}
      />
    </Notice>
  )
}

function Steps() {
  return (
    <ol className="grid gap-4 sm:grid-cols-3">
      {words.steps.map(([title, text], index) => (
        <li key={title}>
          <Card className="h-full p-5">
            <p className="font-mono text-xs text-accent">{index + 1}</p>
            <h2 className="mt-3 font-medium">{title}</h2>
            <p className="mt-1 text-sm text-pretty text-muted">{text}</p>
          </Card>
        </li>
      ))}
    </ol>
  )
}

function Owned({ address }: { address: string }) {
  const query = useQuery(ownedQuery(address))
  return (
    <Loaded
      query={query}
      skeleton={
        <Card>
          <SkeletonRows count={3} label={words.loading} />
        </Card>
      }
    >
      {({ merchants }) => {
        const by = (role: OwnedMerchant['role']) => merchants.filter((it) => it.role === role)
        return (
          <>
            <Group
              title={words.offered}
              merchants={by('offered')}
              note={words.offeredNote}
              hrefOf={({ id }) => `/console/${id}/settings`}
            />
            {by('owner').length === 0 ? (
              <Card>
                <Empty
                  title={words.none}
                  action={
                    <ButtonLink href="/console/new" variant="primary">
                      {words.list}
                    </ButtonLink>
                  }
                >
                  {words.noneNote}
                </Empty>
              </Card>
            ) : (
              <Group
                title={words.owned}
                merchants={by('owner')}
                hrefOf={({ id }) => `/console/${id}`}
              />
            )}
            <Group
              title={words.found}
              merchants={by('payTo')}
              note={words.foundNote}
              hrefOf={({ id }) => `/console/${id}/edit`}
            />
          </>
        )
      }}
    </Loaded>
  )
}

function Group({
  title,
  note,
  merchants,
  hrefOf,
}: {
  title: string
  note?: string
  merchants: readonly OwnedMerchant[]
  hrefOf: (merchant: OwnedMerchant) => string
}) {
  if (merchants.length === 0) return null
  return (
    <Section title={title} note={note}>
      <Card className="overflow-hidden">
        <ul className="divide-y divide-line">
          {merchants.map((merchant) => (
            <li
              key={merchant.id}
              className="relative flex items-center gap-4 px-4 py-4 hover:bg-sunken/60 sm:px-5"
            >
              <Glyph of={merchant.id} />
              <div className="min-w-0 flex-1">
                <h3 className="font-medium">
                  <Link href={hrefOf(merchant)} className="after:absolute after:inset-0">
                    <UntrustedText text={merchant.name} max={60} />
                  </Link>
                </h3>
                <p className="flex flex-wrap items-center gap-x-3 text-xs text-faint">
                  <span className="font-mono">{merchant.id}</span>
                  <span>
                    <When text={words.changed} at={merchant.updatedAt * 1000} />
                  </span>
                </p>
              </div>
              {merchant.hidden && <Badge tone="warn">{words.hidden}</Badge>}
              {merchant.role === 'owner' && <Month merchantId={merchant.id} />}
              <Counts endpoints={merchant.endpoints} />
              <span className="text-faint">
                <Icon name="right" size={14} />
              </span>
            </li>
          ))}
        </ul>
      </Card>
    </Section>
  )
}

/** Shows three figures of the last 30 days, on wide screens only. */
function Month({ merchantId }: { merchantId: string }) {
  const { data } = useQuery(merchantTotalsQuery(merchantId))
  const month = data?.['30d']
  if (month === undefined) return null
  const figures = [
    [words.revenue, <Usd key="usd" usd={month.revenue.usd} />, words.revenueNote],
    [words.payments, shortCount(month.settled), exactCount(month.settled)],
    [words.success, percent(month.successRate), undefined],
  ] as const
  return (
    <dl className="mr-4 hidden gap-8 lg:flex">
      {figures.map(([name, value, title]) => (
        <div key={name} className="w-24 text-right" title={title}>
          <dt className="text-2xs whitespace-nowrap text-faint">{name}</dt>
          <dd className="text-sm font-medium tabular">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Counts({ endpoints: { live, unverified, failing } }: Pick<OwnedMerchant, 'endpoints'>) {
  return (
    <span className="flex flex-col items-end gap-x-3 sm:min-w-24 sm:flex-row sm:justify-end">
      {live > 0 && <Dot tone="ok">{words.live(live)}</Dot>}
      {unverified > 0 && <Dot tone="warn">{words.unverified(unverified)}</Dot>}
      {failing > 0 && <Dot tone="bad">{words.failing(failing)}</Dot>}
    </span>
  )
}
