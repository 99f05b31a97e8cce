import type { OwnedMerchant } from '@arcus/protocol/answers/listings'
import { useQuery } from '@tanstack/react-query'
import { useConnection } from 'wagmi'
import { Link } from 'wouter'
import { merchantQuery, merchantTotalsQuery, ownedQuery } from '../../api/queries.js'
import { Badge, Dot } from '../../components/badge.js'
import { ButtonLink } from '../../components/button.js'
import { Card, Empty, Notice, Section } from '../../components/card.js'
import { Usd } from '../../components/figures.js'
import { Glyph, Icon } from '../../components/icons.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { PageTitle } from '../../components/page.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { percent, shortCount } from '../../format/amounts.js'
import { healthCounts } from '../../format/health.js'
import { readDraft } from './editor/drafts.js'

/** Lists the listings that the connected wallet owns, is offered or may claim. */
export function Overview() {
  const { address } = useConnection()
  return (
    <>
      <PageTitle
        title="Your APIs"
        aside={
          <ButtonLink href="/console/new" variant="primary">
            <Icon name="plus" size={14} />
            Sell your API
          </ButtonLink>
        }
      >
        Paste a URL, check what it asks for, and sign once. There is no account and no password.
      </PageTitle>
      <div className="space-y-10">
        <OpenDraft />
        {address === undefined ? <Nobody /> : <Owned address={address} />}
      </div>
    </>
  )
}

function OpenDraft() {
  const draft = readDraft('new')
  const name = draft && (draft.values.name || draft.values.endpoints[0]?.url)
  if (draft === undefined || !name) return null
  return (
    <Notice
      title="You have a draft on this device"
      action={
        <ButtonLink size="sm" href="/console/new">
          Continue
        </ButtonLink>
      }
    >
      <UntrustedText text={name} max={80} />, saved <Moment at={draft.savedAt} />
    </Notice>
  )
}

function Nobody() {
  return (
    <Card>
      <Empty
        title="Connect a wallet to see your APIs"
        action={
          <ButtonLink href="/console/new" variant="primary">
            Check your API without one
          </ButtonLink>
        }
      >
        The wallet that signs is the owner. Arcus asks it for signatures only, never for a
        transaction.
      </Empty>
    </Card>
  )
}

function Owned({ address }: { address: string }) {
  const query = useQuery(ownedQuery(address))
  return (
    <Loaded
      query={query}
      skeleton={
        <Card>
          <SkeletonRows count={3} label="Loading your APIs" />
        </Card>
      }
    >
      {({ merchants }) => {
        const by = (role: OwnedMerchant['role']) => merchants.filter((it) => it.role === role)
        return (
          <>
            <Group
              title="Offered to you"
              merchants={by('offered')}
              note="Accept with a signature to become the owner."
              hrefOf={({ id }) => `/console/${id}/settings`}
            />
            {by('owner').length === 0 ? (
              <Card>
                <Empty
                  title="This wallet sells no API yet"
                  action={
                    <ButtonLink href="/console/new" variant="primary">
                      Sell your API
                    </ButtonLink>
                  }
                >
                  If another wallet owns your listing, switch to that wallet above.
                </Empty>
              </Card>
            ) : (
              <Group
                title="Owned by you"
                merchants={by('owner')}
                hrefOf={({ id }) => `/console/${id}`}
              />
            )}
            <Group
              title="Found in payments to you"
              merchants={by('payTo')}
              note="Arcus found these APIs in payments to your wallet. To become the owner, open one and sign it."
              hrefOf={({ id }) => `/console/${id}/endpoints`}
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
                    Changed <Moment at={merchant.updatedAt * 1000} />
                  </span>
                </p>
              </div>
              {merchant.hidden && <Badge tone="warn">Hidden by the operator</Badge>}
              {merchant.role === 'owner' && <Month merchantId={merchant.id} />}
              <Counts merchantId={merchant.id} />
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
    ['Revenue, 30 days', <Usd key="usd" usd={month.revenue.usd} />],
    ['Payments', shortCount(month.settled)],
    ['Success rate', percent(month.successRate)],
  ] as const
  return (
    <dl className="mr-4 hidden gap-8 lg:flex">
      {figures.map(([name, value]) => (
        <div key={name} className="w-24 text-right">
          <dt className="text-2xs whitespace-nowrap text-faint">{name}</dt>
          <dd className="text-sm font-medium tabular">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Counts the APIs of a listing by their state. Its place is kept until the listing is read. */
function Counts({ merchantId }: { merchantId: string }) {
  const { data } = useQuery(merchantQuery(merchantId))
  const apis = data?.endpoints.map(({ state, price }) => ({ ...state, price })) ?? []
  return (
    <span className="flex flex-col items-end gap-x-3 sm:min-w-32 sm:flex-row sm:justify-end">
      {healthCounts(apis).map(({ kind, name, tone, count }) => (
        <Dot key={kind} tone={tone}>
          {apis.length === 1 ? name : `${count} ${name.toLowerCase()}`}
        </Dot>
      ))}
    </span>
  )
}
