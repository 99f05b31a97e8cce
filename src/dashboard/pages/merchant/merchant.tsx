import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Range } from '../../../api/activity.js'
import type { MerchantView } from '../../../api/listings.js'
import { merchantQuery, merchantTotalsQuery, settingsQuery } from '../../api/queries.js'
import { isPublicWarning, MerchantBadges } from '../../components/badge.js'
import { ButtonLink, quietLink } from '../../components/button.js'
import { Card, Empty, Notice, Section } from '../../components/card.js'
import { ranges, Segmented } from '../../components/field.js'
import { Fact, Latency, Stat, Usd } from '../../components/figures.js'
import { Glyph } from '../../components/icons.js'
import { Loaded, Skeleton, SkeletonRows } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { useTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { exactCount, percent, shortCount } from '../../format/amounts.js'
import { oneLine, sameAddress } from '../../format/untrusted-text.js'
import { lastDirectory } from '../directory/filter-bar.js'
import { EndpointCard } from './endpoint-card.js'
import { IdentityChecks } from './identity-checks.js'
import { words } from './words.js'

/** Shows one merchant to the public. */
export function MerchantPage({ id }: { id: string }) {
  const query = useQuery(merchantQuery(id))
  return (
    <Loaded
      query={query}
      skeleton={<MerchantSkeleton />}
      missing={
        <Empty
          isPage
          title={words.missing}
          action={<ButtonLink href="/directory">{words.toDirectory}</ButtonLink>}
        >
          {words.missingText}
        </Empty>
      }
    >
      {(merchant) => <Merchant merchant={merchant} />}
    </Loaded>
  )
}

function Merchant({ merchant }: { merchant: MerchantView }) {
  const { id, name, description, flags, identity, endpoints, warnings } = merchant
  useTitle(oneLine(name, 60))
  return (
    <div className="space-y-10">
      <header>
        <Link href={lastDirectory()} className="text-sm text-muted hover:text-ink">
          {words.back}
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
        <Notice tone="warn" title={words.hidden}>
          {flags.hiddenReason !== null && <UntrustedText text={flags.hiddenReason} max={300} />}
        </Notice>
      )}
      <PublicTotals merchantId={id} />
      <Section title={words.endpoints(endpoints.length)}>
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
      <div className="grid gap-10 lg:grid-cols-2">
        <Section title={words.identity}>
          <IdentityChecks merchant={merchant} />
        </Section>
        <Section title={words.facts}>
          <Facts merchant={merchant} />
        </Section>
      </div>
      {flags.unclaimed && (
        <Notice
          title={words.claim}
          action={
            <ButtonLink href={`/console/${encodeURIComponent(id)}/edit`}>
              {words.claimAction}
            </ButtonLink>
          }
        >
          {words.claimText}
        </Notice>
      )}
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
        <Fact name={flags.official ? words.fact.buyback : words.fact.payTo}>
          <Hex hex={payTo} kind="address" />
          {flags.official && (
            <p className="text-xs text-muted">
              {sameAddress(buyback, payTo) ? words.fact.buybackText : words.fact.notBuyback}
            </p>
          )}
        </Fact>
        <Fact name={words.fact.owner}>
          {owner !== null ? (
            <Hex hex={owner} kind="address" />
          ) : flags.unclaimed ? (
            words.fact.nobody
          ) : (
            words.fact.operator
          )}
          {owner !== null && !flags.official && (
            <p className="text-xs text-muted">{words.fact.unreviewed}</p>
          )}
        </Fact>
        <Fact name={words.fact.network}>
          <span className="font-mono text-xs">{network}</span>
        </Fact>
        <Fact name={words.fact.listed}>
          <Sentence
            text={words.fact.listedText}
            parts={{
              listed: <Moment at={createdAt * 1000} />,
              changed: <Moment at={updatedAt * 1000} />,
            }}
          />
        </Fact>
        <Fact name={words.fact.history}>
          <a href={`/api/merchants/${encodeURIComponent(id)}/history`} className={quietLink}>
            {words.fact.messages(revision)}
          </a>
        </Fact>
        <Fact name={words.fact.machines}>
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
        <Skeleton className="size-14 !rounded-2xl" />
        <div className="flex-1 space-y-3">
          <Skeleton className="h-8 w-72 max-w-full" />
          <Skeleton className="h-4 w-48" />
        </div>
      </div>
      <Card className="overflow-hidden">
        <SkeletonRows count={3} label={words.loading} />
      </Card>
    </div>
  )
}

/** Shows the public totals of a merchant. */
export function PublicTotals({ merchantId }: { merchantId: string }) {
  const [range, setRange] = useState<Range>('30d')
  const { data, error } = useQuery(merchantTotalsQuery(merchantId))
  if (error !== null && data === undefined) {
    return <p className="text-sm text-muted">{words.totals.failed(error.message)}</p>
  }
  const totals = data?.[range]
  return (
    <section aria-label={words.totals.title}>
      <Card className="p-5">
        <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
          <h2 className="text-sm font-medium">{words.totals.title}</h2>
          <Segmented
            legend={words.totals.range}
            value={range}
            options={ranges}
            onChange={setRange}
          />
        </div>
        {totals === undefined ? (
          <Skeleton className="h-14 w-full" />
        ) : (
          <dl className="grid grid-cols-2 gap-x-6 gap-y-5 sm:grid-cols-5">
            <Stat
              name={words.totals.calls}
              value={shortCount(totals.settled)}
              title={exactCount(totals.settled)}
            />
            <Stat name={words.totals.revenue} value={<Usd usd={totals.revenue.usd} />} />
            <Stat
              name={words.totals.payers}
              value={shortCount(totals.payers.unique)}
              note={words.totals.repeat(shortCount(totals.payers.repeat))}
            />
            <Stat name={words.totals.successRate} value={percent(totals.successRate)} />
            <Latency
              name={words.totals.settleTime}
              p50={totals.settleP50Ms}
              p95={totals.settleP95Ms}
            />
          </dl>
        )}
        <p className="mt-4 text-xs text-faint">{words.totals.note}</p>
      </Card>
    </section>
  )
}
