import { Badge } from '../components/badge.js'
import { Card } from '../components/card.js'
import { Notice } from '../components/notice.js'
import { manyLines, oneLine } from '../format/hostile-text.js'
import type { FieldChange, ListingDiff } from './diff.js'

const kinds = {
  added: ['ok', 'New'],
  removed: ['bad', 'Removed'],
  changed: ['accent', 'Changed'],
} as const

/** What a signature will change, before and after side by side. */
export function DiffView({ diff, isNew }: { diff: ListingDiff; isNew: boolean }) {
  return (
    <div className="space-y-4">
      {diff.changesPayTo && (
        <Notice tone="warn" title="The payout address changes">
          From the moment you sign, all payments of this listing must go to the new address.
        </Notice>
      )}
      {diff.fields.length > 0 && (
        <Card className="overflow-hidden">
          <Head kind={isNew ? 'added' : 'changed'} name="Merchant" />
          <Changes changes={diff.fields} />
        </Card>
      )}
      {diff.endpoints.map(({ kind, name, changes }) => (
        <Card key={`${kind} ${name}`} className="overflow-hidden">
          <Head kind={kind} name={name} />
          {kind !== 'removed' && <Changes changes={changes} />}
        </Card>
      ))}
    </div>
  )
}

function Head({ kind, name }: { kind: keyof typeof kinds; name: string }) {
  const [tone, word] = kinds[kind]
  return (
    <h3 className="flex items-center gap-3 border-b border-line px-5 py-3 text-sm font-medium">
      <Badge tone={tone}>{word}</Badge>
      <bdi dir="ltr" className="min-w-0 truncate">
        {oneLine(name, 300)}
      </bdi>
    </h3>
  )
}

function Changes({ changes }: { changes: FieldChange[] }) {
  return (
    <dl className="divide-y divide-line text-sm">
      {changes.map(({ field, before, after }) => (
        <div key={field} className="grid gap-x-4 gap-y-1 px-5 py-2.5 sm:grid-cols-[8rem_1fr]">
          <dt className="text-muted">{field}</dt>
          <dd className="min-w-0 space-y-1">
            {before !== null && (
              <del className="block rounded bg-bad-soft px-2 py-0.5 break-words whitespace-pre-wrap text-bad decoration-1">
                <span className="sr-only">before: </span>
                <bdi>{manyLines(before, 2_000)}</bdi>
              </del>
            )}
            {after !== null && (
              <ins
                className={`block break-words whitespace-pre-wrap no-underline ${before === null ? '' : 'rounded bg-ok-soft px-2 py-0.5 text-ok'}`}
              >
                {before !== null && <span className="sr-only">after: </span>}
                <bdi>{manyLines(after, 2_000)}</bdi>
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
