import type { MerchantView } from '@arcus/protocol/answers/listings'
import type { Listing } from '@arcus/protocol/listing/listing'
import { useState } from 'react'
import { useConnection } from 'wagmi'
import { Badge } from '../../../components/badge.js'
import { Button } from '../../../components/button.js'
import { Card, Note, Notice, Section } from '../../../components/card.js'
import { Icon } from '../../../components/icons.js'
import { Hex } from '../../../components/untrusted-text.js'
import { manyLines, oneLine, sameAddress } from '../../../format/untrusted-text.js'
import { WalletFault } from '../../../wallet/signing.js'
import { WalletPicker } from '../../../wallet/wallet-provider.js'
import { type Change, type Changes, changesOf } from './changes.js'
import { type FormValues, type ListedToken, notesOf, type Ready } from './form.js'

interface ReviewProps {
  ready: Ready
  /** The form from which the listing was made, with what the checks found. */
  values: FormValues
  merchant: MerchantView | undefined
  /** The present listing, if there is one. */
  before: Listing | undefined
  tokens: readonly ListedToken[]
  isSigning: boolean
  error: Error | null
  onSign: () => void
  onBack: () => void
}

/** Shows the changes once more before the wallet is asked to sign. */
export function Review(props: ReviewProps) {
  const { ready, values, merchant, before, tokens, isSigning, error, onSign, onBack } = props
  const { address } = useConnection()
  const [isPicking, setIsPicking] = useState(false)
  const changes = changesOf(before, ready.listing, tokens)
  const isSame = changes.fields.length + changes.endpoints.length === 0
  const isNew = merchant === undefined
  const owner = merchant?.owner ?? undefined
  const isElse = owner !== undefined && address !== undefined && !sameAddress(owner, address)
  return (
    <div className="space-y-6">
      <Section
        title={isSame ? 'Nothing changes' : 'Check and sign'}
        note={
          isSame
            ? 'The listing is already like this. If you sign again, Arcus only checks your APIs again.'
            : 'Your wallet shows the same payout address.'
        }
      >
        <Problems values={values} />
        <ChangesView changes={changes} id={isNew ? ready.id : undefined} />
      </Section>
      <Card className="space-y-4 p-5">
        <dl className="flex flex-wrap gap-x-12 gap-y-3 text-sm">
          <div>
            <dt className="text-muted">Paid to</dt>
            <dd>
              <Hex hex={ready.listing.payTo} kind="address" isFull />
            </dd>
          </div>
          <div>
            <dt className="text-muted">Signed by</dt>
            <dd>{address === undefined ? 'nobody yet' : <Hex hex={address} kind="address" />}</dd>
          </div>
        </dl>
        {isElse && (
          <Notice tone="bad" title="Another wallet owns this listing">
            Switch to <Hex hex={owner} kind="address" /> to sign.
          </Notice>
        )}
        {error !== null && <WalletFault error={error} title="Not saved" />}
        <div className="flex flex-wrap items-center gap-3">
          {address === undefined ? (
            <Button variant="primary" onClick={() => setIsPicking(true)}>
              <Icon name="wallet" />
              Connect wallet to sign
            </Button>
          ) : (
            <Button
              variant="primary"
              isBusy={isSigning}
              why={isElse ? 'Switch to the wallet that owns this listing.' : undefined}
              onClick={onSign}
            >
              {isNew ? 'Sign and list' : 'Sign and save'}
            </Button>
          )}
          <Button onClick={onBack} why={isSigning ? 'Answer in the wallet first.' : undefined}>
            Back to editing
          </Button>
          {isSigning && (
            <p role="status" className="text-sm text-muted">
              Answer in the wallet. Then Arcus calls each API once.
            </p>
          )}
        </div>
      </Card>
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </div>
  )
}

/** Repeats before the signature what keeps buyers from paying. */
function Problems({ values: { endpoints, payTo } }: { values: FormValues }) {
  return endpoints.map((endpoint) => {
    const notes = notesOf(endpoint, endpoint.found, payTo).filter(({ level }) => level === 'bad')
    if (notes.length === 0) return null
    return (
      <div key={`${endpoint.method} ${endpoint.url} ${endpoint.toolName}`} className="space-y-2">
        <h3 className="text-sm font-medium">
          <bdi>{oneLine(endpoint.title || endpoint.url, 100)}</bdi>
        </h3>
        {notes.map(({ level, text }) => (
          <Note key={text} level={level}>
            {text}
          </Note>
        ))}
      </div>
    )
  })
}

const kinds = {
  added: ['ok', 'New'],
  removed: ['bad', 'Removed'],
  changed: ['accent', 'Changed'],
} as const

/** Shows the changes of a signature, before and after. */
function ChangesView({
  changes: { fields, endpoints },
  id,
}: {
  changes: Changes
  /** Set for a new listing. */
  id: string | undefined
}) {
  const isNew = id !== undefined
  const changesPayTo = !isNew && fields.some(({ field }) => field === 'Paid to')
  // The address of a new listing is shown below.
  const shown = isNew ? fields.filter(({ field }) => field !== 'Paid to') : fields
  return (
    <div className="space-y-4">
      {changesPayTo && (
        <Notice tone="warn" title="The payout address changes">
          As soon as you sign, every payment must go to the new address.
        </Notice>
      )}
      {shown.length > 0 && (
        <ChangedPart
          kind={isNew ? 'added' : 'changed'}
          name={isNew ? `Seller ${id}` : 'Seller'}
          changes={shown}
        />
      )}
      {endpoints.map((it) => (
        <ChangedPart key={`${it.kind} ${it.name}`} {...it} />
      ))}
    </div>
  )
}

function ChangedPart({
  kind,
  name,
  changes,
}: {
  kind: keyof typeof kinds
  name: string
  changes: readonly Change[]
}) {
  const [tone, word] = kinds[kind]
  return (
    <Card className="overflow-hidden">
      <h3 className="flex items-center gap-3 border-b border-line px-5 py-3 text-sm font-medium">
        <Badge tone={tone}>{word}</Badge>
        <bdi dir="ltr" className="min-w-0 truncate">
          {oneLine(name, 300)}
        </bdi>
      </h3>
      {kind !== 'removed' && (
        <dl className="divide-y divide-line text-sm">
          {changes.map((change) => (
            <div
              key={change.field}
              className="grid gap-x-4 gap-y-1 px-5 py-2.5 sm:grid-cols-[8rem_1fr]"
            >
              <dt className="text-muted">{change.field}</dt>
              <dd className="min-w-0 space-y-1">
                <BeforeAndAfter {...change} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Card>
  )
}

function BeforeAndAfter({ before, after }: Change) {
  const isReplaced = before !== '' && after !== ''
  return (
    <>
      {before !== '' && (
        <del className="block rounded bg-bad-soft px-2 py-0.5 break-words whitespace-pre-wrap text-bad decoration-1">
          <span className="sr-only">before: </span>
          <bdi>{manyLines(before, 2_000)}</bdi>
        </del>
      )}
      {after !== '' && (
        <ins
          className={`block break-words whitespace-pre-wrap no-underline ${isReplaced ? 'rounded bg-ok-soft px-2 py-0.5 text-ok' : ''}`}
        >
          {isReplaced && <span className="sr-only">after: </span>}
          <bdi>{manyLines(after, 2_000)}</bdi>
        </ins>
      )}
    </>
  )
}
