import { useState } from 'react'
import { useConnection } from 'wagmi'
import type { Listing } from '../../listing-client/listing.js'
import { Button } from '../components/button.js'
import { Card, Section } from '../components/card.js'
import { Hex } from '../components/hex.js'
import { Icon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { describeError, isRejection } from '../wallet/wallet-error.js'
import { WalletPicker } from '../wallet/wallet-picker.js'
import { isUnchanged, type ListingDiff } from './diff.js'
import { DiffView } from './diff-view.js'

interface ReviewProps {
  id: string
  listing: Listing
  diff: ListingDiff
  isNew: boolean
  /** Who may sign, where somebody owns it already. */
  owner: string | undefined
  isSigning: boolean
  error: unknown
  onSign: () => void
  onBack: () => void
}

/** The last look before the wallet is asked. */
export function Review(props: ReviewProps) {
  const { id, listing, diff, isNew, owner, isSigning, error, onSign, onBack } = props
  const { address } = useConnection()
  const [isPicking, setIsPicking] = useState(false)
  const isElse =
    owner !== undefined && address !== undefined && owner.toLowerCase() !== address.toLowerCase()
  const nothing = isUnchanged(diff)
  return (
    <div className="space-y-8">
      <Section
        title={nothing ? 'Nothing changes' : 'What you sign'}
        note={
          nothing
            ? 'The listing is already like this. Signing again only has its endpoints looked at.'
            : 'Read it once more. The wallet will show the same payout address.'
        }
      >
        <DiffView diff={diff} isNew={isNew} />
      </Section>
      <Card className="space-y-4 p-5">
        <dl className="grid gap-x-8 gap-y-3 text-sm sm:grid-cols-3">
          <div>
            <dt className="text-muted">Merchant</dt>
            <dd className="font-mono text-xs break-all">{id}</dd>
          </div>
          <div>
            <dt className="text-muted">Paid to</dt>
            <dd>
              <Hex hex={listing.payTo} kind="address" />
            </dd>
          </div>
          <div>
            <dt className="text-muted">Signed by</dt>
            <dd>{address === undefined ? 'nobody yet' : <Hex hex={address} kind="address" />}</dd>
          </div>
        </dl>
        {isElse && (
          <Notice tone="warn" title="Another wallet owns this listing">
            Switch to <Hex hex={owner} kind="address" /> to sign.
          </Notice>
        )}
        {error !== null && error !== undefined && (
          <Notice
            tone={isRejection(error) ? 'warn' : 'bad'}
            title={isRejection(error) ? 'Not signed' : 'Not saved'}
          >
            {describeError(error)}
          </Notice>
        )}
        <div className="flex flex-wrap items-center gap-3">
          {address === undefined ? (
            <Button look="primary" onClick={() => setIsPicking(true)}>
              <Icon name="wallet" />
              Connect wallet to sign
            </Button>
          ) : (
            <Button look="primary" isBusy={isSigning} disabled={isElse} onClick={onSign}>
              {isNew ? 'Sign and list' : 'Sign and save'}
            </Button>
          )}
          <Button onClick={onBack} disabled={isSigning}>
            Back to editing
          </Button>
          {isSigning && (
            <p role="status" className="text-sm text-muted">
              Answer in the wallet; then each endpoint is looked at once.
            </p>
          )}
        </div>
      </Card>
      {isPicking && <WalletPicker onClose={() => setIsPicking(false)} />}
    </div>
  )
}
