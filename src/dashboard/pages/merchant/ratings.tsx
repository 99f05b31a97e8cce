import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Rating } from '../../../api/fields.js'
import type { RatingView } from '../../../api/ratings.js'
import { ratingsQuery } from '../../api/queries.js'
import { Loaded, Skeleton } from '../../components/loaded.js'
import { Moment } from '../../components/moment.js'
import { Hex, OutLink, UntrustedText, UrlText } from '../../components/untrusted-text.js'
import { percent } from '../../format/amounts.js'
import { words } from './words.js'

/** Shows what payers think of an endpoint in one line, and each rating with the merchant's answer once it is opened. */
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
        {words.ratings.average(average, count, payers)}{' '}
        {payers > 1 && topPayerShare >= 0.5 && words.ratings.busiest(percent(topPayerShare))}
      </p>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary className="w-fit font-medium hover:text-ink">{words.ratings.show}</summary>
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
          <p className="max-w-prose text-xs">{words.ratings.about}</p>
          <ul className="space-y-3">
            {ratings.map((it) => (
              <OneRating key={it.id} rating={it} />
            ))}
          </ul>
          {next !== null && <p className="text-xs">{words.ratings.more}</p>}
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
          <span className="sr-only">{words.ratings.score(score)}</span>
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
          <span className="font-medium">{words.ratings.answer}</span>{' '}
          <UntrustedText text={answer.text} max={500} lines />
        </div>
      )}
    </li>
  )
}
