import { ArcusError } from '@arcus/client/calls'
import type { Range } from '@arcus/protocol/answers/activity'
import type { MerchantView } from '@arcus/protocol/answers/listings'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { merchantQuery, merchantTotalsQuery, settingsQuery } from '../../api/queries.js'
import { isPublicWarning, MerchantBadges } from '../../components/badge.js'
import { ButtonLink, quietLink } from '../../components/button.js'
import { Card, Empty, Notice, Section } from '../../components/card.js'
import { Fact, Latency, Stat } from '../../components/facts.js'
import { ranges, Segmented } from '../../components/field.js'
import { ABOUT_BUYERS, Usd } from '../../components/figures.js'
import { Glyph } from '../../components/icons.js'
import { Loaded, Skeleton, SkeletonRows } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { useTitle } from '../../components/page.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { counted, exactCount, percent, shortCount } from '../../format/amounts.js'
import { oneLine, sameAddress } from '../../format/untrusted-text.js'
import { lastDirectory } from '../directory/filter-bar.js'
import { EndpointCard } from './endpoint-card.js'
import { IdentityChecks } from './identity-checks.js'

/** Shows one seller to the public. */
export function MerchantPage({ id }: { id: string }) {
  const query = useQuery(merchantQuery(id))
  return (
    <Loaded
      query={query}
      skeleton={<MerchantSkeleton />}
      missing={
        <Missing
          id={id}
          isDeleted={query.error instanceof ArcusError && query.error.status === 410}
        />
      }
    >
      {(merchant) => <Merchant merchant={merchant} />}
    </Loaded>
  )
}

/** Says that there is no such seller. The signed changes of a deleted one stay public. */
function Missing({ id, isDeleted }: { id: string; isDeleted: boolean }) {
  useTitle(isDeleted ? 'Deleted' : 'Not found')
  return (
    <Empty
      isPage
      title={isDeleted ? 'This seller was deleted' : 'There is no such seller'}
      action={<ButtonLink href="/">To the directory</ButtonLink>}
    >
      {isDeleted ? (
        <>
          The owner deleted it. Its{' '}
          <a href={historyOf(id)} className={quietLink}>
            change log
          </a>{' '}
          stays public.
        </>
      ) : (
        'The id is mistyped.'
      )}
    </Empty>
  )
}

const historyOf = (id: string) => `/api/merchants/${encodeURIComponent(id)}/history`

function Merchant({ merchant }: { merchant: MerchantView }) {
  const { id, name, description, flags, identity, agentId, endpoints, warnings } = merchant
  useTitle(oneLine(name, 60))
  return (
    <div className="space-y-10">
      <header>
        <Link href={lastDirectory()} className="text-sm text-muted hover:text-ink">
          ← Directory
        </Link>
        <div className="mt-4 flex items-start gap-4">
          <Glyph of={id} size={56} />
          <div className="min-w-0">
            <h1 className="text-2xl font-semibold tracking-tight sm:text-3xl">
              <UntrustedText text={name} max={60} />
            </h1>
            <div className="mt-2 flex flex-wrap items-center gap-2">
              <span className="font-mono text-xs break-all text-muted">{id}</span>
              <MerchantBadges
                {...flags}
                warnings={warnings}
                checks={identity === null ? undefined : passedOf(identity.checks)}
              />
            </div>
          </div>
        </div>
        {description !== '' && (
          <div className="mt-5 max-w-prose text-pretty text-muted">
            <UntrustedText text={description} max={1_000} lines />
          </div>
        )}
      </header>
      {warnings
        .filter(({ code }) => isPublicWarning(code))
        .map(({ code, message }) => (
          <Notice key={code} tone="warn" title={message} />
        ))}
      {flags.hidden && (
        <Notice tone="warn" title="Hidden by the operator">
          {flags.hiddenReason !== null && <UntrustedText text={flags.hiddenReason} max={300} />}
        </Notice>
      )}
      <PublicTotals merchantId={id} />
      {flags.unclaimed && (
        <Notice
          title="Is this your API?"
          action={
            <ButtonLink href={`/console/${encodeURIComponent(id)}/edit`}>Claim it</ButtonLink>
          }
        >
          Arcus found it in a settled payment. The wallet that is paid can claim it.
        </Notice>
      )}
      <div className="grid grid-cols-1 items-start gap-x-8 gap-y-10 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <Section title={counted(endpoints.length, { one: '# API', other: '# APIs' })}>
          <Card className="overflow-hidden">
            <ul className="divide-y divide-line">
              {endpoints.map((endpoint, index) => (
                <EndpointCard
                  key={endpoint.state.id}
                  endpoint={endpoint}
                  merchantId={id}
                  payTo={merchant.payTo}
                  isOpenAtFirst={index === 0}
                />
              ))}
            </ul>
          </Card>
        </Section>
        <div className="space-y-10">
          <Section title="Payout and owner">
            <Facts merchant={merchant} />
          </Section>
          {agentId !== null && (
            <Section title="Identity">
              <IdentityChecks merchant={merchant} agentId={agentId} />
            </Section>
          )}
        </div>
      </div>
    </div>
  )
}

function passedOf({ control, pay, file, domain }: NonNullable<MerchantView['identity']>['checks']) {
  return {
    control: control.passed,
    pay: pay.passed,
    file: file.passed,
    domain: domain.passed,
  }
}

function Facts({ merchant }: { merchant: MerchantView }) {
  const { data: settings } = useQuery(settingsQuery)
  const { payTo, owner, network, revision, createdAt, updatedAt, flags, id } = merchant
  const buyback = settings?.buybackAddress ?? null
  return (
    <Card className="px-5 py-2">
      <dl className="divide-y divide-line text-sm">
        <Fact name={flags.official ? 'Buyback address' : 'Paid to'}>
          <Hex hex={payTo} kind="address" />
          {flags.official && (
            <p className="text-xs text-muted">
              {sameAddress(buyback, payTo)
                ? 'Revenue of official APIs goes to this public buyback wallet.'
                : 'This is not the buyback wallet of the operator now.'}
            </p>
          )}
        </Fact>
        <Fact name="Owner">
          {owner !== null ? (
            <Hex hex={owner} kind="address" />
          ) : flags.unclaimed ? (
            'nobody yet'
          ) : (
            'the operator'
          )}
          {owner !== null && !flags.official && (
            <p className="text-xs text-muted">
              The owner signed this listing. Nobody has reviewed it.
            </p>
          )}
        </Fact>
        <Fact name="Network">
          <span className="font-mono text-xs">{network}</span>
        </Fact>
        <Fact name="Listed">
          <Moment at={createdAt * 1000} />, changed <Moment at={updatedAt * 1000} />
        </Fact>
        <Fact name="Change log">
          <a href={historyOf(id)} className={quietLink}>
            {counted(revision, { one: '# signed change', other: '# signed changes' }, exactCount)}
          </a>
        </Fact>
        <Fact name="For programs">
          <span className="flex flex-wrap gap-x-3">
            {['openapi.json', 'llms.txt'].map((file) => (
              <a
                key={file}
                href={`/api/merchants/${encodeURIComponent(id)}/${file}`}
                className={quietLink}
              >
                {file}
              </a>
            ))}
          </span>
        </Fact>
      </dl>
    </Card>
  )
}

function MerchantSkeleton() {
  return (
    <div className="space-y-8">
      <div className="flex gap-4">
        <Skeleton className="size-14 " />
        <div className="flex-1 space-y-3">
          <Skeleton className="h-8 w-72 max-w-full" />
          <Skeleton className="h-4 w-48" />
        </div>
      </div>
      <Card className="overflow-hidden">
        <SkeletonRows count={3} label="Loading the seller" />
      </Card>
    </div>
  )
}

/** Shows the public totals of a seller. */
function PublicTotals({ merchantId }: { merchantId: string }) {
  const [range, setRange] = useState<Range>('30d')
  const { data, error } = useQuery(merchantTotalsQuery(merchantId))
  if (error !== null && data === undefined) {
    return <p className="text-sm text-muted">Public totals could not be loaded: {error.message}</p>
  }
  const totals = data?.[range]
  return (
    <section aria-label="Public totals">
      <Card className="p-5">
        <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
          <h2 className="text-sm font-medium">Public totals</h2>
          <Segmented legend="Period" value={range} options={ranges} onChange={setRange} />
        </div>
        {totals === undefined ? (
          <Skeleton className="h-55 w-full sm:h-16.5" />
        ) : (
          <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-5">
            <Stat
              name="Payments"
              value={shortCount(totals.settled)}
              title={exactCount(totals.settled)}
            />
            <Stat name="Revenue" value={<Usd usd={totals.revenue.usd} />} />
            <Stat
              name="Buyers"
              value={shortCount(totals.payers.unique)}
              title={ABOUT_BUYERS}
              note={`${shortCount(totals.payers.elsewhere ?? 0)} also buy elsewhere, ${shortCount(totals.payers.repeat)} came back`}
            />
            <Stat name="Success rate" value={percent(totals.successRate)} />
            <Latency name="Settle time" p50={totals.settleP50Ms} p95={totals.settleP95Ms} />
          </dl>
        )}
        <p className="mt-4 text-xs text-faint">
          Refunds are taken off. Payments of sellers to themselves, and invalid payments, are not
          counted. {ABOUT_BUYERS}
        </p>
      </Card>
    </section>
  )
}
