import type { Listing } from 'arcus-client/listing'
import { useState } from 'react'
import { useConnection } from 'wagmi'
import { Badge } from '../../../components/badge.js'
import { Button } from '../../../components/button.js'
import { Card, Notice, Section } from '../../../components/card.js'
import { Icon } from '../../../components/icons.js'
import { Sentence } from '../../../components/sentence.js'
import { Hex } from '../../../components/untrusted-text.js'
import { manyLines, oneLine, sameAddress } from '../../../format/untrusted-text.js'
import { warningText } from '../../../format/verdicts.js'
import { WalletFault } from '../../../wallet/signed-write.js'
import { WalletPicker } from '../../../wallet/wallet-picker.js'
import { type FieldChange, isUnchanged, type ListingDiff } from './diff.js'
import type { ListingDraft } from './draft.js'
import { differences, openWarnings } from './found.js'
import { words as all } from './words.js'

const words = all.review

interface ReviewProps {
  id: string
  listing: Listing
  /** The form from which the listing was made, with what the checks found. */
  draft: ListingDraft
  diff: ListingDiff
  isNew: boolean
  /** The only address that may sign, where the listing has an owner. */
  owner: string | undefined
  isSigning: boolean
  error: Error | null
  onSign: () => void
  onBack: () => void
}

/** Shows the changes once more before the wallet is asked to sign. */
export function Review(props: ReviewProps) {
  const { id, listing, draft, diff, isNew, owner, isSigning, error, onSign, onBack } = props
  const { address } = useConnection()
  const [isPicking, setIsPicking] = useState(false)
  const isElse = owner !== undefined && address !== undefined && !sameAddress(owner, address)
  const nothing = isUnchanged(diff)
  return (
    <div className="space-y-8">
      <Section
        title={nothing ? words.unchanged : words.title}
        note={nothing ? words.unchangedNote : words.note}
      >
        <Differences draft={draft} />
        <DiffView diff={diff} isNew={isNew} />
      </Section>
      <Card className="space-y-4 p-5">
        <dl className="grid gap-x-8 gap-y-3 text-sm sm:grid-cols-3">
          <div>
            <dt className="text-muted">{words.merchant}</dt>
            <dd className="font-mono text-xs break-all">{id}</dd>
          </div>
          <div>
            <dt className="text-muted">{words.paidTo}</dt>
            <dd>
              <Hex hex={listing.payTo} kind="address" />
            </dd>
          </div>
          <div>
            <dt className="text-muted">{words.signedBy}</dt>
            <dd>{address === undefined ? words.nobody : <Hex hex={address} kind="address" />}</dd>
          </div>
        </dl>
        {isElse && (
          <Notice tone="warn" title={words.ofAnother}>
            <Sentence
              text={words.switchTo}
              parts={{ wallet: <Hex hex={owner} kind="address" /> }}
            />
          </Notice>
        )}
        {error !== null && <WalletFault error={error} title={words.notSaved} />}
        <div className="flex flex-wrap items-center gap-3">
          {address === undefined ? (
            <Button variant="primary" onClick={() => setIsPicking(true)}>
              <Icon name="wallet" />
              {words.connect}
            </Button>
          ) : (
            <Button
              variant="primary"
              isBusy={isSigning}
              why={isElse ? words.switchFirst : undefined}
              onClick={onSign}
            >
              {isNew ? words.list : words.save}
            </Button>
          )}
          <Button onClick={onBack} why={isSigning ? words.answerFirst : undefined}>
            {words.back}
          </Button>
          {isSigning && (
            <p role="status" className="text-sm text-muted">
              {words.signing}
            </p>
          )}
        </div>
      </Card>
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </div>
  )
}

/** Warns where the listing says something else than the 402 of its endpoint, before it is signed. */
function Differences({ draft: { endpoints, payTo } }: { draft: ListingDraft }) {
  return endpoints.map((endpoint) => {
    const differing = differences(endpoint, payTo)
    const notes = [
      ...differing,
      ...openWarnings(endpoint)
        .filter((code) => code === 'amount_zero')
        .map((code) => warningText(code)),
    ]
    return notes.length === 0 ? null : (
      <Notice
        key={endpoint.key}
        tone="warn"
        title={(differing.length > 0 ? words.differs : words.unpayable)(
          endpoint.title || endpoint.url,
        )}
      >
        {notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
      </Notice>
    )
  })
}

const kinds = { added: 'ok', removed: 'bad', changed: 'accent' } as const

/** Shows the changes of a signature, before and after. */
function DiffView({ diff, isNew }: { diff: ListingDiff; isNew: boolean }) {
  return (
    <div className="space-y-4">
      {diff.changesPayTo && (
        <Notice tone="warn" title={words.payToChanges}>
          {words.payToChangesNote}
        </Notice>
      )}
      {diff.fields.length > 0 && (
        <Card className="overflow-hidden">
          <Head kind={isNew ? 'added' : 'changed'} name={words.merchant} />
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
  return (
    <h3 className="flex items-center gap-3 border-b border-line px-5 py-3 text-sm font-medium">
      <Badge tone={kinds[kind]}>{words.kinds[kind]}</Badge>
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
                <span className="sr-only">{words.before} </span>
                <bdi>{manyLines(before, 2_000)}</bdi>
              </del>
            )}
            {after !== null && (
              <ins
                className={`block break-words whitespace-pre-wrap no-underline ${before === null ? '' : 'rounded bg-ok-soft px-2 py-0.5 text-ok'}`}
              >
                {before !== null && <span className="sr-only">{words.after} </span>}
                <bdi>{manyLines(after, 2_000)}</bdi>
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
