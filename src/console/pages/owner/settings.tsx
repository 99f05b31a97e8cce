import type { HistoryAnswer, MerchantView } from '@arcus/protocol/answers/listings'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useConnection } from 'wagmi'
import { useLocation } from 'wouter'
import { historyQuery } from '../../api/queries.js'
import { Button, quietLink } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Dialog } from '../../components/dialog.js'
import { Loaded, SkeletonRows } from '../../components/loaded.js'
import { PointInTime } from '../../components/moment.js'
import { say } from '../../components/toast.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSigning, useWrite } from '../../wallet/signing.js'
import { IdentityChecks } from '../merchant/identity-checks.js'
import { Ownership } from './ownership.js'
import { SignedButton, SignedLine } from './signed.js'
import { Webhooks } from './webhooks.js'

/** Settings of a listing that change seldom. Each takes a signature, and only what the connected wallet may do is shown. */
export function ListingSettings({ merchant }: { merchant: MerchantView }) {
  const { address } = useConnection()
  const { id, owner, payTo, payToProof, offer } = merchant
  const isOwner = sameAddress(address, owner)
  const role = {
    isOwner,
    isPaid: sameAddress(address, payTo),
    isOffered: sameAddress(address, offer?.to),
  }
  return (
    <div className="grid grid-cols-1 items-start gap-x-10 gap-y-12 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <div className="space-y-12">
        <Ownership merchant={merchant} role={role} />
        {isOwner && payToProof !== null && <Webhooks id={id} owner={merchant.owner as string} />}
        {(isOwner || merchant.agentId !== null) && <Agent merchant={merchant} isOwner={isOwner} />}
        {isOwner && <DeleteListing id={id} />}
      </div>
      <ChangeLog merchant={merchant} />
    </div>
  )
}

type HistoryEntry = HistoryAnswer['entries'][number]

/** The past tense of each action, and of the same action with a `null` body. */
const changes: Partial<Record<HistoryEntry['action'], [string, string?]>> = {
  'listing.create': ['Listed'],
  'listing.update': ['Changed'],
  'listing.delete': ['Deleted'],
  'owner.offer': ['Offered to another owner', 'Offer taken back'],
  'owner.accept': ['Taken over by a new owner'],
  'payto.confirm': ['Payout address confirmed', 'Confirmation of the payout address withdrawn'],
  'agent.link': ['Agent linked', 'Agent unlinked'],
}

function changeOf({ action, body }: HistoryEntry): string {
  const [done, undone = done] = changes[action] ?? [action]
  const isNull = Object.values((body ?? {}) as object).every((value) => value === null)
  return isNull ? undone : done
}

/** Lists the last signed changes, newest first. */
function ChangeLog({ merchant: { id, revision } }: { merchant: MerchantView }) {
  const query = useQuery(historyQuery(id, revision))
  return (
    <Section
      title="Change log"
      note="Each change was signed by a wallet. Anybody can read and verify them, also after a deletion."
    >
      <Card>
        <Loaded query={query} skeleton={<SkeletonRows count={2} label="Loading the changes" />}>
          {({ entries }) => (
            <ul className="divide-y divide-line text-sm">
              {entries.toReversed().map((entry) => (
                <li
                  key={entry.revision}
                  className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 px-5 py-3"
                >
                  <span>
                    {changeOf(entry)} <span className="text-xs text-faint">#{entry.revision}</span>
                  </span>
                  <span className="flex flex-wrap items-center gap-x-4 text-muted">
                    <Hex hex={entry.owner} kind="address" />
                    <PointInTime at={entry.acceptedAt * 1000} />
                  </span>
                </li>
              ))}
              <li className="px-5 py-3 text-xs">
                <a
                  href={`/api/merchants/${encodeURIComponent(id)}/history`}
                  className={`text-muted ${quietLink}`}
                >
                  All signed messages as JSON
                </a>
              </li>
            </ul>
          )}
        </Loaded>
      </Card>
    </Section>
  )
}

/** Links the ERC-8004 agent of the seller and shows its four checks. */
function Agent({ merchant, isOwner }: { merchant: MerchantView; isOwner: boolean }) {
  const { id, agentId } = merchant
  const link = useWrite(id, (client, next: string) =>
    client.linkAgent(id, next.replace(/^0+(?=\d)/, '')),
  )
  return (
    <Section
      title="ERC-8004 agent"
      note="Link the registered agent of this seller. Arcus makes four checks, repeats them, and shows the result and the date of each."
    >
      {agentId !== null && <IdentityChecks merchant={merchant} agentId={agentId} />}
      {isOwner && (
        <SignedLine
          key={agentId}
          write={link}
          label="Agent id"
          action="Sign and link"
          initial={agentId ?? ''}
          check={(text) =>
            /^\d{1,78}$/.test(text) ? undefined : 'Give the number of the agent, such as 214.'
          }
          inputMode="numeric"
          maxLength={78}
          done="Signed. Arcus makes the checks now."
        >
          {agentId !== null && (
            <SignedButton
              id={id}
              variant="quiet"
              act={(client) => client.linkAgent(id, null)}
              done="The agent is unlinked."
            >
              Sign and unlink
            </SignedButton>
          )}
        </SignedLine>
      )}
    </Section>
  )
}

function DeleteListing({ id }: { id: string }) {
  const [isAsking, setIsAsking] = useState(false)
  const [, go] = useLocation()
  const { write } = useSigning()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => write((client) => client.delete(id)),
    onSuccess: () => {
      say(`${id} is deleted. Its id stays yours.`)
      // The next page lists what is left, and reads nothing of the deleted one.
      queries.removeQueries({ queryKey: ['owned'] })
      go('/console')
      queries.removeQueries({ queryKey: ['merchant', id] })
    },
  })
  return (
    <Section
      title="Delete"
      note="It leaves the directory at once. Its id stays yours, and its signed history stays public."
    >
      <Button variant="danger" onClick={() => setIsAsking(true)}>
        Delete this listing
      </Button>
      {isAsking && (
        <Dialog title="Delete this listing?" onClose={() => setIsAsking(false)}>
          <SignedLine
            write={remove}
            label={`Type ${id} to confirm`}
            action="Sign and delete"
            isDanger
            check={(text) => (text === id ? undefined : `Type ${id} first.`)}
          >
            <Button onClick={() => setIsAsking(false)}>Keep</Button>
          </SignedLine>
        </Dialog>
      )}
    </Section>
  )
}
