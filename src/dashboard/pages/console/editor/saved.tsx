import type { SavedListing } from 'arcus-client/listing-client'
import type { EndpointState } from '../../../../api/listings.js'
import { StatusDot } from '../../../components/badge.js'
import { Button, ButtonLink } from '../../../components/button.js'
import { Card, Notice } from '../../../components/card.js'
import { Icon } from '../../../components/icons.js'
import { Sentence } from '../../../components/sentence.js'
import { EndpointLine, UntrustedText } from '../../../components/untrusted-text.js'
import { verdictName, warningText } from '../../../format/verdicts.js'
import { words as all } from './words.js'

const words = all.saved

/** Shows the saved listing, the status of each endpoint, what is left to do, and the next steps. */
export function Saved({
  listing,
  isNew,
  onAgain,
}: {
  listing: SavedListing
  isNew: boolean
  onAgain: () => void
}) {
  const { id, endpoints, revision } = listing
  return (
    <div className="max-w-2xl space-y-6">
      <div className="arriving flex items-start gap-4">
        <span className="mt-1 inline-flex size-9 shrink-0 items-center justify-center rounded-full bg-ok-soft text-ok">
          <Icon name="check" />
        </span>
        <div role="status">
          <h2 className="text-xl font-semibold tracking-tight">
            {isNew ? words.listed : words.saved}
          </h2>
          <p className="text-muted">
            <Sentence
              text={words.text(revision)}
              parts={{ id: <span className="font-mono text-sm">{id}</span> }}
            />
          </p>
        </div>
      </div>
      <Card>
        <ul className="divide-y divide-line">
          {endpoints.map(({ method, url, toolName = '', state }) => (
            <li
              key={method + url + toolName}
              className="flex items-center justify-between gap-4 px-5 py-3"
            >
              <EndpointLine method={method} url={url} />
              <StatusDot status={state.status as EndpointState['status']} />
            </li>
          ))}
        </ul>
      </Card>
      {warningsOf(listing).map(({ title, text, about, cure, part }) => (
        <Notice
          key={title + text}
          tone="warn"
          title={title}
          action={
            <ButtonLink size="sm" href={`/console/${encodeURIComponent(id)}/${part}`}>
              {cure}
            </ButtonLink>
          }
        >
          <p>
            <UntrustedText text={text} max={600} />
          </p>
          {about.map((name) => (
            <p key={name} className="text-xs">
              <UntrustedText text={name} max={100} />
            </p>
          ))}
        </Notice>
      ))}
      <div className="flex flex-wrap gap-3">
        <ButtonLink href={`/console/${id}`} variant="primary">
          {words.watch}
        </ButtonLink>
        <ButtonLink href={`/merchants/${id}`}>{words.publicPage}</ButtonLink>
        <Button variant="quiet" onClick={onAgain}>
          {isNew ? words.another : words.editAgain}
        </Button>
      </div>
    </div>
  )
}

interface Warning {
  title: string
  text: string
  /** Titles of the endpoints that it concerns, if not all. */
  about: string[]
  /** The words of the link to the part of the console that cures it. */
  cure: string
  part: 'edit' | 'endpoints' | 'settings'
}

type Given = SavedListing['warnings'][number]

/** Groups the warnings of a save, so that each is said once however many endpoints it concerns. */
function warningsOf({ warnings, endpoints }: SavedListing): Warning[] {
  const found = new Map<string, Warning>()
  for (const given of warnings) {
    const endpoint = endpoints[Number(/^endpoints\[(\d+)\]/.exec(given.path)?.[1])]
    const warning = { ...explain(given, endpoint?.state.probe?.verdict), about: [] }
    const key = warning.title + warning.text
    const known = found.get(key) ?? warning
    if (endpoint !== undefined && endpoints.length > 1) known.about.push(endpoint.title)
    found.set(key, known)
  }
  return [...found.values()]
}

function explain({ code, message }: Given, verdict = 'not_checked'): Omit<Warning, 'about'> {
  const editing = { cure: words.editListing, part: 'edit' } as const
  const checking = { cure: words.checkAgain, part: 'endpoints' } as const
  switch (code) {
    case 'pay_to_unproven':
      return {
        ...{ title: words.unproven, text: words.unprovenNote },
        ...{ cure: words.confirm, part: 'settings' },
      }
    case 'confusable_name':
      return { title: words.name, text: message, cure: words.editName, part: 'edit' }
    case 'unverified':
    case 'failing':
      return { title: verdictName(verdict), text: message, ...checking }
    case 'price_drift':
    case 'schema_missing':
      return { title: words.answer, text: warningText(code), ...editing }
    default:
      return { title: words.answer, text: warningText(code), ...checking }
  }
}
