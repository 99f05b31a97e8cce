import type { EndpointCard } from '@arcus/protocol/answers/discovery'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { Link } from 'wouter'
import { endpointsQuery, merchantQuery, settingsQuery } from '../../api/queries.js'
import { ButtonLink, quietLink, TextLink } from '../../components/button.js'
import { Skeleton } from '../../components/loaded.js'
import { lazyPage, useTitle } from '../../components/page.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../format/amounts.js'
import { TryIt } from '../merchant/try/try-it.js'
import { Directory } from './directory.js'
import { isBrowsing, useFilters } from './filter-bar.js'

const PayCommand = lazyPage(() => import('../../components/pay-command.js'), 'PayCommand')

/**
 * The door: what Arcus is and one API to try at once, beside the directory or in a few lines above it. Where somebody
 * searches, the directory is all of the page.
 */
export function Home() {
  const isPage = isBrowsing(useFilters().filters)
  useTitle(isPage ? 'Directory' : undefined)
  return (
    <div
      className={`-mt-4 grid grid-cols-1 gap-x-8 sm:-mt-7 ${isPage ? '' : 'xl:grid-cols-[18rem_minmax(0,1fr)]'}`}
    >
      {!isPage && <Hero />}
      <Directory isPage={isPage} />
    </div>
  )
}

function Hero() {
  const { data: settings } = useQuery(settingsQuery)
  const { data, isPending } = useInfiniteQuery(endpointsQuery({ sort: 'calls' }))
  const isKnown = settings !== undefined && !isPending
  const sample = settings?.tryIt === true ? sampleOf(data?.pages[0]?.items ?? []) : undefined
  return (
    <div className="grid content-start gap-x-8 gap-y-2.5 sm:max-xl:grid-cols-2 sm:max-xl:items-center sm:max-xl:pb-4 xl:sticky xl:top-14 xl:-m-1 xl:max-h-[calc(100dvh-4rem)] xl:self-start xl:gap-y-6 xl:overflow-y-auto xl:p-1">
      <div>
        <h1 className="text-xl/7 font-semibold tracking-tight sm:text-3xl xl:text-4xl/10 xl:tracking-[-0.03em]">
          Charge a cent per API call.
        </h1>
        <p className="mt-1 text-sm text-pretty text-muted xl:mt-4 xl:text-base">
          x402 lets a program pay for a call over HTTP. Arcus settles that on Arc, a chain whose gas
          is USDC, in half a second: no account, no API key.{' '}
          <TextLink href="/how-it-works">See the steps</TextLink>
        </p>
      </div>
      <section aria-label="Try a paid call" className="flex flex-wrap gap-x-3 gap-y-1.5">
        {!isKnown ? (
          <SampleSkeleton />
        ) : (
          sample !== undefined && <Sample sample={sample} isPlay={settings.devnet} />
        )}
        <ButtonLink
          href="/console"
          variant={isKnown && sample === undefined ? 'primary' : 'secondary'}
          className="xl:order-2 xl:mt-3"
        >
          Sell your API
        </ButtonLink>
        {isKnown && sample === undefined && settings.devnet && (
          <Suspense>
            <PayCommand />
          </Suspense>
        )}
      </section>
    </div>
  )
}

/** Returns the API to try: one that is live, costs what it is listed for, and is called without a body. */
function sampleOf(items: readonly EndpointCard[]): EndpointCard | undefined {
  const fit = items.filter(
    ({ method, pricing, price, livePrice, status, probe, merchant }) =>
      method === 'GET' &&
      pricing === 'fixed' &&
      status === 'live' &&
      livePrice === price &&
      probe?.verdict === 'live' &&
      merchant.warnings.length === 0,
  )
  return fit.find(({ merchant }) => merchant.id === 'sample-api') ?? fit[0]
}

/** Offers to call one API with the example of its seller. */
function Sample({ sample, isPlay }: { sample: EndpointCard; isPlay: boolean }) {
  const { id, merchant, title, price, symbol } = sample
  const { data } = useQuery(merchantQuery(merchant.id))
  const endpoint = data?.endpoints.find(({ state }) => state.id === id)
  if (data === undefined || endpoint === undefined) return <SampleSkeleton />
  return (
    <>
      <p className="order-1 w-full truncate text-xs text-muted">
        Calls{' '}
        <Link
          href={`/merchants/${encodeURIComponent(merchant.id)}#endpoint-${id}`}
          className={quietLink}
        >
          “<UntrustedText text={title} max={60} />”
        </Link>
        {isPlay ? ' with play money.' : '. Your wallet signs once.'}
      </p>
      <TryIt merchantId={merchant.id} payTo={data.payTo} endpoint={endpoint} isPlain>
        Call and pay {exactAmount(atomicToUsd(price), symbol)}
      </TryIt>
    </>
  )
}

function SampleSkeleton() {
  return (
    <div role="status" aria-label="Loading an API to try" className="contents">
      <Skeleton className="h-10 w-48" />
      <Skeleton className="order-1 h-4 w-56" />
    </div>
  )
}
