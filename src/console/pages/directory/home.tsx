import type { EndpointCard } from '@arcus/protocol/answers/discovery'
import type { MerchantView } from '@arcus/protocol/answers/listings'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { endpointsQuery, merchantQuery, settingsQuery } from '../../api/queries.js'
import { Button, ButtonLink, TextLink } from '../../components/button.js'
import { Card } from '../../components/card.js'
import { AskedPrice } from '../../components/figures.js'
import { Skeleton } from '../../components/loaded.js'
import { lazyPage, useTitle } from '../../components/page.js'
import { EndpointLine, UntrustedText } from '../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../format/amounts.js'
import { Directory } from './directory.js'
import { isBrowsing, useFilters } from './filter-bar.js'

const PayCommand = lazyPage(() => import('../../components/pay-command.js'), 'PayCommand')
const TryPanel = lazyPage(() => import('../merchant/try/try-panel.js'), 'TryPanel')

/** The door: what Arcus is, one API to try at once, and the directory, which is all of the page where somebody searches. */
export function Home() {
  const isPage = isBrowsing(useFilters().filters)
  useTitle(isPage ? 'Directory' : undefined)
  return (
    <>
      {!isPage && (
        <div className="mb-12 grid items-start gap-x-12 gap-y-8 lg:grid-cols-[minmax(0,6fr)_minmax(0,5fr)]">
          <Hero />
          <section aria-label="Try a paid call" className="scroll-mt-20">
            <Sample />
          </section>
        </div>
      )}
      <Directory isPage={isPage} />
    </>
  )
}

function Hero() {
  return (
    <div className="lg:pt-6">
      <h1 className="text-display font-semibold tracking-[-0.035em]">
        Charge a cent per API call.
      </h1>
      <p className="mt-4 max-w-lg text-lg/7 text-pretty text-muted">
        With x402 a program pays for a call over HTTP. Arcus settles these payments on Arc, a chain
        whose gas is paid in USDC, in half a second: no account, no API key, no gas.
      </p>
      <div className="mt-7 flex flex-wrap items-center gap-x-5 gap-y-3">
        <ButtonLink href="/console">Sell your API</ButtonLink>
        <TextLink href="/how-it-works">See the steps</TextLink>
      </div>
    </div>
  )
}

/** Shows one API with its “Try it” open. Without one it shows the command that makes the first payment. */
function Sample() {
  const { data: settings } = useQuery(settingsQuery)
  const { data, isPending } = useInfiniteQuery(endpointsQuery({ sort: 'calls' }))
  const isKnown = settings !== undefined && !isPending
  const items = data?.pages[0]?.items ?? []
  const sample = settings?.tryIt === true ? sampleOf(items) : undefined
  return (
    <Card className="min-h-80 p-5 sm:min-h-68 sm:p-6">
      {!isKnown ? (
        <SampleSkeleton />
      ) : sample !== undefined ? (
        <TrySample sample={sample} />
      ) : (
        <Suspense fallback={<SampleSkeleton />}>
          <PayCommand />
        </Suspense>
      )}
    </Card>
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

function TrySample({ sample }: { sample: EndpointCard }) {
  const { title, method, url, merchant } = sample
  const { data } = useQuery(merchantQuery(merchant.id))
  const endpoint = data?.endpoints.find(({ state }) => state.id === sample.id)
  return (
    <>
      <div className="flex items-start justify-between gap-4">
        <div className="min-w-0">
          <h2 className="font-medium">
            <UntrustedText text={title} />
          </h2>
          <p className="text-sm text-muted">
            by <UntrustedText text={merchant.name} max={60} />
          </p>
        </div>
        <span className="text-lg font-semibold tracking-tight">
          <AskedPrice {...sample} />
        </span>
      </div>
      <div className="mt-3 mb-5">
        <EndpointLine method={method} url={url} />
      </div>
      {data === undefined || endpoint === undefined ? (
        <Skeleton className="h-24 w-full" />
      ) : (
        <OpenPanel merchant={data} endpoint={endpoint} />
      )}
    </>
  )
}

/** The press that opens the panel: a call with play money, the list of wallets, or only its fields. */
type Press = 'play' | 'own' | 'fields'

/** Shows “Try it” open. The button is all that a first call needs, so the code of the panel comes with its press. */
function OpenPanel({
  merchant,
  endpoint,
}: {
  merchant: MerchantView
  endpoint: MerchantView['endpoints'][number]
}) {
  const { data: settings } = useQuery(settingsQuery)
  const [opened, setOpened] = useState<Press>()
  const buttons = (
    <Buttons
      endpoint={endpoint}
      isPlay={settings?.devnet === true}
      opened={opened}
      onOpen={setOpened}
    />
  )
  if (opened === undefined) return buttons
  return (
    <Suspense fallback={buttons}>
      <TryPanel
        merchantId={merchant.id}
        payTo={merchant.payTo}
        endpoint={endpoint}
        isPlain
        opened={opened}
      />
    </Suspense>
  )
}

function Buttons({
  endpoint,
  isPlay,
  opened,
  onOpen,
}: {
  endpoint: MerchantView['endpoints'][number]
  isPlay: boolean
  opened: Press | undefined
  onOpen: (press: Press) => void
}) {
  const { example, inputSchema, price, state } = endpoint
  const parts = Object.values(example).filter((part) => Object.keys(Object(part)).length > 0)
  const hasFields = inputSchema !== null || parts.length > 0
  const isBusy = (press: Press) => opened === press
  return (
    <div className="space-y-5">
      <p className="max-w-sm text-sm text-pretty text-muted">
        {isPlay
          ? 'Play money of this devnet pays. It is worth nothing anywhere.'
          : 'Your wallet signs once, without gas. Nothing above this price is signed.'}
        {hasFields && ' The call is made with the seller’s example.'}
      </p>
      <div className="flex flex-wrap gap-3">
        {isPlay && (
          <Button
            data-pay=""
            variant="primary"
            isBusy={isBusy('play')}
            onClick={() => onOpen('play')}
          >
            Call and pay {exactAmount(atomicToUsd(price), state.symbol)}
          </Button>
        )}
        <Button
          variant={isPlay ? 'secondary' : 'primary'}
          isBusy={isBusy('own')}
          onClick={() => onOpen('own')}
        >
          {isPlay ? 'Use my wallet' : 'Connect wallet'}
        </Button>
        {hasFields && (
          <Button variant="quiet" isBusy={isBusy('fields')} onClick={() => onOpen('fields')}>
            Change the call
          </Button>
        )}
      </div>
    </div>
  )
}

function SampleSkeleton() {
  return (
    <div role="status" aria-label="Loading an API to try" className="space-y-4">
      <Skeleton className="h-5 w-40" />
      <Skeleton className="h-4 w-64 max-w-full" />
      <Skeleton className="h-24 w-full" />
    </div>
  )
}
