import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useConnection } from 'wagmi'
import { Link } from 'wouter'
import type { MerchantView } from '../../../api/listings.js'
import { merchantQuery } from '../../api/queries.js'
import { ButtonLink } from '../../components/button.js'
import { Empty, Notice } from '../../components/card.js'
import { Glyph } from '../../components/icons.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { lazyPage, NotFound, useTitle } from '../../components/page.js'
import { Sentence } from '../../components/sentence.js'
import { Hex, UntrustedText } from '../../components/untrusted-text.js'
import { oneLine, sameAddress } from '../../format/untrusted-text.js'
import { ListingEditor, LoadingPart } from './endpoints.js'
import { SavedNote } from './saved.js'
import { words as all } from './words.js'

const words = all.manage

/** Each part is loaded on demand, because the others are of no use to it. */
const Activity = lazyPage(() => import('./activity.js'), 'Activity')
const ListingSettings = lazyPage(() => import('./settings.js'), 'ListingSettings')

const parts = Object.entries(words.parts)

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
          <Skeleton className="h-64 w-full !rounded-2xl" />
        </div>
      }
      missing={
        <Empty
          isPage
          title={words.missing}
          action={<ButtonLink href="/console">{all.overview.title}</ButtonLink>}
        >
          {words.missingNote}
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
              {all.overview.title}
            </Link>{' '}
            / <span className="font-mono break-all">{id}</span>
          </p>
        </div>
        <ButtonLink size="sm" href={`/merchants/${encodeURIComponent(id)}`}>
          {words.publicPage}
        </ButtonLink>
      </header>
      <nav
        aria-label={words.navigation}
        className="mb-8 flex gap-1 overflow-x-auto border-b border-line"
      >
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
          <Notice tone="warn" title={words.hidden}>
            {flags.hiddenReason !== null && <UntrustedText text={flags.hiddenReason} max={300} />}
          </Notice>
        )}
        <SavedNote merchant={merchant} />
        <OwnerNote {...merchant} />
        <Suspense fallback={<LoadingPart />}>
          {part === 'activity' && <Activity merchant={merchant} />}
          {part === 'endpoints' && <ListingEditor merchant={merchant} />}
          {part === 'settings' && <ListingSettings merchant={merchant} />}
        </Suspense>
      </div>
    </>
  )
}

/** Says who may change the listing, unless the connected wallet may. */
function OwnerNote({ owner, payTo, flags, endpoints }: MerchantView) {
  const { address } = useConnection()
  if (flags.unclaimed) {
    return (
      <Notice title={words.unclaimed}>
        <Sentence
          text={words.unclaimedNote}
          parts={{ wallet: <Hex hex={payTo} kind="address" /> }}
        />
      </Notice>
    )
  }
  if (owner === null) {
    if (endpoints.some(({ state }) => state.hosted)) return <Notice title={words.ofOperator} />
    return (
      <Notice title={words.ofOperator}>
        <Sentence
          text={words.ofOperatorNote}
          parts={{ wallet: <Hex hex={payTo} kind="address" /> }}
        />
      </Notice>
    )
  }
  if (address === undefined || sameAddress(address, owner)) return null
  return (
    <Notice tone="warn" title={words.ofAnother}>
      <Sentence text={words.ofAnotherNote} parts={{ wallet: <Hex hex={owner} kind="address" /> }} />
    </Notice>
  )
}
