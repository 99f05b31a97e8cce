import type { MerchantView } from '@arcus/protocol/answers/listings'
import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useConnection } from 'wagmi'
import { Link } from 'wouter'
import { merchantQuery } from '../../api/queries.js'
import { ButtonLink } from '../../components/button.js'
import { Empty, Notice } from '../../components/card.js'
import { Glyph } from '../../components/icons.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { lazyPage, NotFound, PageTitle, useTitle } from '../../components/page.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { oneLine, sameAddress } from '../../format/untrusted-text.js'
import { SavedNote } from './saved.js'

/** Each part is loaded on demand, because the others are of no use to it. */
const Activity = lazyPage(() => import('./activity.js'), 'Activity')
const ListingSettings = lazyPage(() => import('./settings.js'), 'ListingSettings')

const parts = [
  ['activity', 'Activity'],
  ['endpoints', 'APIs'],
  ['settings', 'Settings'],
] as const

/** Shows one listing to its owner. The address of the page names the part. */
export function Manage({ id, part }: { id: string; part: string }) {
  const query = useQuery(merchantQuery(id))
  if (!parts.some(([key]) => key === part)) return <NotFound />
  return (
    <Loaded
      query={query}
      skeleton={
        <div className="space-y-4">
          <Skeleton className="h-12 w-72" />
          <Skeleton isCard className="h-64 w-full" />
        </div>
      }
      missing={
        <Empty
          isPage
          title="There is no such listing"
          action={<ButtonLink href="/console">Your APIs</ButtonLink>}
        >
          It was deleted, or it never existed. The id of a deleted listing stays with its owner, who
          can use it again.
        </Empty>
      }
    >
      {(merchant) => <ManagedListing merchant={merchant} part={part} />}
    </Loaded>
  )
}

function ManagedListing({ merchant, part }: { merchant: MerchantView; part: string }) {
  const { id, name, flags } = merchant
  useTitle(oneLine(name, 60))
  return (
    <>
      <header className="mb-6 flex flex-wrap items-center gap-4">
        <Glyph of={id} size={44} />
        <div className="min-w-0 flex-1">
          <h1 className="text-2xl font-semibold tracking-tight">
            <UntrustedText text={name} max={60} />
          </h1>
          <p className="text-xs text-muted">
            <Link href="/console" className="hover:text-ink">
              Your APIs
            </Link>{' '}
            / <span className="font-mono break-all">{id}</span>
          </p>
        </div>
        <ButtonLink size="sm" href={`/merchants/${encodeURIComponent(id)}`}>
          Public page
        </ButtonLink>
      </header>
      <nav aria-label="Listing" className="mb-8 flex gap-1 overflow-x-auto border-b border-line">
        {parts.map(([key, title]) => (
          <Link
            key={key}
            href={`/console/${encodeURIComponent(id)}${key === 'activity' ? '' : `/${key}`}`}
            aria-current={key === part ? 'page' : undefined}
            className="-mb-px flex h-10 shrink-0 items-center border-b-2 border-transparent px-3 text-sm font-medium text-muted hover:text-ink aria-[current]:border-accent aria-[current]:text-ink"
          >
            {title}
          </Link>
        ))}
      </nav>
      <div className="space-y-6">
        {flags.hidden && (
          <Notice tone="warn" title="The operator has hidden this listing">
            {flags.hiddenReason !== null && <UntrustedText text={flags.hiddenReason} max={300} />}
          </Notice>
        )}
        <SavedNote merchant={merchant} />
        <OwnerNote merchant={merchant} />
        <Suspense fallback={<LoadingPart />}>
          {part === 'activity' && <Activity merchant={merchant} />}
          {part === 'endpoints' && <ListingEditor merchant={merchant} />}
          {part === 'settings' && <ListingSettings merchant={merchant} />}
        </Suspense>
      </div>
    </>
  )
}

/** Says who may change the listing, unless the connected wallet may, or it is offered to that wallet. */
function OwnerNote({ merchant }: { merchant: MerchantView }) {
  const { owner, payTo, offer, flags, endpoints } = merchant
  const { address } = useConnection()
  const payout = <Hex hex={payTo} kind="address" />
  if (flags.unclaimed) {
    return (
      <Notice title="Nobody owns this listing yet">
        Arcus found it in a settled payment. To become the owner, save it with the wallet {payout},
        which receives its payments.
      </Notice>
    )
  }
  if (owner === null) {
    return (
      <Notice title="The operator of this service wrote this listing">
        {!endpoints.some(({ state }) => state.hosted) && (
          <>To become the owner, save it with the wallet {payout}, which receives its payments.</>
        )}
      </Notice>
    )
  }
  if ([owner, offer?.to].some((wallet) => sameAddress(address, wallet))) return null
  const isPaid = sameAddress(address, payTo)
  return (
    <Notice
      {...(address !== undefined && !isPaid && { tone: 'warn' as const })}
      title={
        address === undefined ? 'Only its owner can change it' : 'Another wallet owns this listing'
      }
    >
      Connect the wallet <Hex hex={owner} kind="address" /> to change anything.
    </Notice>
  )
}

/** The APIs of a listing. Loaded on demand, because the form and its rules are of no use to the other pages of an owner. */
const ListingEditor = lazyPage(() => import('./editor/listing-editor.js'), 'ListingEditor')

/** Keeps the place of a part of the console while its code comes. */
export function LoadingPart() {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton className="h-64 w-full" />
    </div>
  )
}

/** Lists a new API, or checks one without a wallet. */
export function Sell() {
  return (
    <>
      <PageTitle title="Sell your API">
        Paste its URL to see what a buyer sees. No wallet is needed for that. To list it, your
        wallet signs once, at the end.
      </PageTitle>
      <Suspense fallback={<LoadingPart />}>
        <ListingEditor />
      </Suspense>
    </>
  )
}
