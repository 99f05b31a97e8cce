import type { Rating } from '@arcus/protocol/answers/fields'
import type { RatingView } from '@arcus/protocol/answers/ratings'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ratingsQuery } from '../../api/queries.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { Hex, OutLink, UntrustedText, UrlText } from '../../components/untrusted-text.js'
import { counted, percent } from '../../format/amounts.js'

/** Shows what buyers think of an API in one line, and each rating with the seller's answer once it is opened. */
export function Ratings({
  merchantId,
  id,
  rating,
}: {
  merchantId: string
  id: number
  rating: Rating
}) {
  const [isOpen, setIsOpen] = useState(false)
  const { average, count, payers, topPayerShare } = rating
  return (
    <div className="space-y-1 text-sm text-muted">
      <p>
        Rated {average} of 100 from {counted(count, { one: '# payment', other: '# payments' })} by{' '}
        {counted(payers, { one: '# buyer', other: '# buyers' })}.{' '}
        {payers > 1 &&
          topPayerShare >= 0.5 &&
          `One buyer gave ${percent(topPayerShare)} of the ratings.`}
      </p>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary className="w-fit font-medium hover:text-ink">Read the ratings</summary>
        {isOpen && <RatingList merchantId={merchantId} id={id} />}
      </details>
    </div>
  )
}

function RatingList({ merchantId, id }: { merchantId: string; id: number }) {
  const query = useQuery(ratingsQuery(merchantId, id))
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-24" />}>
      {({ ratings, next }) => (
        <div className="mt-2 space-y-3">
          <p className="max-w-prose text-xs">
            Each comes from somebody who paid for this API here. A seller could pay from wallets of
            their own, so the number of buyers matters.
          </p>
          <ul className="space-y-3">
            {ratings.map((it) => (
              <OneRating key={it.id} rating={it} />
            ))}
          </ul>
          {next !== null && <p className="text-xs">Only the newest are shown.</p>}
        </div>
      )}
    </Loaded>
  )
}

function OneRating({ rating }: { rating: RatingView }) {
  const { score, tag, link, payer, ratedAt, answer } = rating
  return (
    <li className="space-y-1 border-l-2 border-line pl-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="font-medium text-ink">
          <span aria-hidden="true">{score}</span>
          <span className="sr-only">{score} out of 100</span>
        </span>
        {tag !== '' && <UntrustedText text={tag} max={32} />}
        <Hex hex={payer} kind="address" />
        <Moment at={ratedAt * 1000} />
      </p>
      {link !== '' && (
        <p className="break-all">
          <OutLink href={link}>
            <UrlText url={link} max={200} />
          </OutLink>
        </p>
      )}
      {answer !== null && (
        <div className="max-w-prose">
          <span className="font-medium">The seller answers:</span>{' '}
          <UntrustedText text={answer.text} max={500} lines />
        </div>
      )}
    </li>
  )
}
