import type { SavedListing } from '../../listing-client/client.js'
import type { EndpointStatus } from '../api/types.js'
import { MethodChip, StatusDot } from '../components/badge.js'
import { Button, ButtonLink } from '../components/button.js'
import { Card } from '../components/card.js'
import { Icon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { StrangerText, UrlText } from '../components/stranger-text.js'
import { oneLine, splitUrl } from '../format/hostile-text.js'
import { warningText } from '../format/verdicts.js'

/** It is done: what is listed now, how each endpoint was found, and where to go from here. */
export function Saved({
  listing,
  isNew,
  onAgain,
}: {
  listing: SavedListing
  isNew: boolean
  onAgain: () => void
}) {
  const { id, endpoints, warnings, revision } = listing
  return (
    <div className="max-w-2xl space-y-6">
      <div className="arriving flex items-start gap-4">
        <span className="mt-1 inline-flex size-9 shrink-0 items-center justify-center rounded-full bg-ok-soft text-ok">
          <Icon name="check" />
        </span>
        <div role="status">
          <h2 className="text-xl font-semibold tracking-tight">{isNew ? 'Listed' : 'Saved'}</h2>
          <p className="text-muted">
            <span className="font-mono text-sm">{id}</span> is in the directory now, as revision{' '}
            {revision}.
          </p>
        </div>
      </div>
      <Card>
        <ul className="divide-y divide-line">
          {endpoints.map(({ method, url, state }) => (
            <li key={method + url} className="flex items-center justify-between gap-4 px-5 py-3">
              <span className="flex min-w-0 items-center gap-2">
                <MethodChip method={method} />
                <span className="min-w-0 truncate">
                  <UrlText url={url} />
                </span>
              </span>
              <StatusDot status={state.status as EndpointStatus} />
            </li>
          ))}
        </ul>
      </Card>
      {warnings.map(({ path, code, message }) => (
        <Notice
          key={path + code}
          tone="warn"
          title={path === 'name' ? 'About the name' : nameOf(path, listing)}
        >
          {message === '' ? warningText(code) : <StrangerText text={message} max={400} />}
        </Notice>
      ))}
      <div className="flex flex-wrap gap-3">
        <ButtonLink href={`/console/${id}`} look="primary">
          Watch payments arrive
        </ButtonLink>
        <ButtonLink href={`/merchants/${id}`}>See it as others do</ButtonLink>
        <Button look="quiet" onClick={onAgain}>
          {isNew ? 'List another' : 'Edit again'}
        </Button>
      </div>
    </div>
  )
}

/** `endpoints[0]` as the service names it, in words. */
function nameOf(path: string, { endpoints }: SavedListing): string {
  const url = endpoints[Number(/^endpoints\[(\d+)\]/.exec(path)?.[1])]?.url
  return url === undefined ? path : `About ${oneLine(splitUrl(url).host + splitUrl(url).rest, 80)}`
}
