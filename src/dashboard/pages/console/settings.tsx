import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Address } from 'viem'
import { useConnection } from 'wagmi'
import { useLocation } from 'wouter'
import type { ListingClient } from '../../../listing-client/client.js'
import { isMistyped } from '../../../listing-client/listing.js'
import type { MerchantView } from '../../api/types.js'
import { Button } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Dialog } from '../../components/dialog.js'
import { Field, inputLook } from '../../components/field.js'
import { Moment } from '../../components/moment.js'
import { Notice } from '../../components/notice.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useSigning } from '../../wallet/signing.js'
import { describeError, isRejection } from '../../wallet/wallet-error.js'
import { IdentityChecks } from '../merchant/identity-checks.js'
import { MISTYPED } from './editor/compose-listing.js'

/** What is rarely done: each its own signature. */
export function ListingSettings({ merchant }: { merchant: MerchantView }) {
  const { address } = useConnection()
  const isOwner = sameAddress(address, merchant.owner)
  return (
    <div className="max-w-3xl space-y-12">
      <AgentLink merchant={merchant} isOwner={isOwner} />
      <PayoutProof merchant={merchant} address={address} />
      <Transfer merchant={merchant} isOwner={isOwner} address={address} />
      <DeleteListing merchant={merchant} isOwner={isOwner} />
    </div>
  )
}

/** Says which ERC-8004 agent the merchant is, and shows how the four checks went. */
function AgentLink({ merchant, isOwner }: { merchant: MerchantView; isOwner: boolean }) {
  const [agentId, setAgentId] = useState(merchant.agentId ?? '')
  const [problem, setProblem] = useState<string>()
  const link = useWrite((client, id: string | null) => client.linkAgent(merchant.id, id))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!/^\d{1,78}$/.test(agentId.trim()))
      return setProblem('Give the number of the agent, such as 214.')
    link.mutate(agentId.trim().replace(/^0+(?=\d)/, ''))
  }
  return (
    <Section
      title="ERC-8004 agent"
      note="Link the agent this merchant is. Four checks are made, dated, and made again; each is shown for itself."
    >
      <IdentityChecks merchant={merchant} />
      <form onSubmit={submit} noValidate className="space-y-3">
        <Field label="Agent id" error={problem}>
          {(field) => (
            <div className="flex flex-wrap gap-2">
              <input
                {...field}
                value={agentId}
                onChange={(event) => {
                  setAgentId(event.target.value)
                  setProblem(undefined)
                }}
                inputMode="numeric"
                autoComplete="off"
                maxLength={78}
                className={`${inputLook} !w-48 font-mono`}
              />
              <Button type="submit" isBusy={link.isPending} disabled={!isOwner}>
                Sign and link
              </Button>
              {merchant.agentId !== null && (
                <Button
                  look="quiet"
                  disabled={!isOwner || link.isPending}
                  onClick={() => link.mutate(null)}
                >
                  Unlink
                </Button>
              )}
            </div>
          )}
        </Field>
        <WriteOutcome write={link} done="Signed. The checks are made now." />
      </form>
    </Section>
  )
}

/**
 * Where another address than the owner's is paid: whether its key has confirmed the owner, and the signature that does.
 * Nothing where the owner is paid himself, or the operator stands for the address.
 */
function PayoutProof({
  merchant,
  address,
}: {
  merchant: MerchantView
  address: string | undefined
}) {
  const { id, owner, payTo, payToProof } = merchant
  const confirm = useWrite((client, next: `0x${string}` | null) => client.confirmPayTo(id, next))
  if (owner === null || payToProof === 'owner' || payToProof === 'operator') return null
  const isConfirmed = payToProof === 'confirmation'
  const isPaid = sameAddress(address, payTo)
  return (
    <Section
      title="Payout address"
      note="Anybody can name an address to be paid. Payments count as this listing’s activity once the key of that address says that it stands behind the owner."
    >
      <Card className="flex flex-wrap items-center justify-between gap-3 px-5 py-4 text-sm">
        <span>
          <Hex hex={payTo} kind="address" />{' '}
          {isConfirmed ? 'has confirmed the owner.' : 'has not confirmed the owner yet.'}
        </span>
        <Button
          look={isConfirmed ? 'quiet' : 'secondary'}
          isBusy={confirm.isPending}
          disabled={!isPaid}
          onClick={() => confirm.mutate(isConfirmed ? null : (owner as `0x${string}`))}
        >
          {isConfirmed ? 'Take it back' : 'Sign and confirm'}
        </Button>
      </Card>
      {!isPaid && (
        <p className="text-sm text-muted">
          To sign it, switch to the wallet of the payout address.
        </p>
      )}
      <WriteOutcome
        write={confirm}
        done={isConfirmed ? 'Confirmed. Payments count from now on.' : 'Taken back.'}
      />
    </Section>
  )
}

interface TransferProps {
  merchant: MerchantView
  isOwner: boolean
  address: string | undefined
}

/** Hands a listing on in two steps: the owner offers, and the new owner accepts with a key that is proven live. */
function Transfer({ merchant, isOwner, address }: TransferProps) {
  const { offer } = merchant
  const isOffered = sameAddress(offer?.to, address)
  return (
    <Section
      title="Transfer"
      note="You offer it, the new owner accepts within seven days. The agent link and the operator’s marks end with the transfer; the payout address stays until the new owner changes it."
    >
      {offer !== null && (
        <Card className="flex flex-wrap items-center justify-between gap-3 px-5 py-4 text-sm">
          <span>
            Offered to <Hex hex={offer.to} kind="address" />, open until{' '}
            <Moment at={offer.until * 1000} />
          </span>
          {isOwner && <TakeBack merchant={merchant} />}
        </Card>
      )}
      {isOffered && <Accept merchant={merchant} />}
      {offer === null && <Offer merchant={merchant} isOwner={isOwner} />}
    </Section>
  )
}

function Offer({ merchant, isOwner }: { merchant: MerchantView; isOwner: boolean }) {
  const [to, setTo] = useState('')
  const [problem, setProblem] = useState<string>()
  const offer = useWrite((client, address: Address) => client.offerOwner(merchant.id, address))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const address = to.trim()
    if (!/^0x[0-9a-fA-F]{40}$/.test(address))
      return setProblem('Give an address: 0x and 40 digits.')
    if (isMistyped(address)) return setProblem(MISTYPED)
    if (sameAddress(address, merchant.owner)) return setProblem('That is the present owner.')
    offer.mutate(address as Address)
  }
  return (
    <form onSubmit={submit} noValidate className="space-y-3">
      <Field label="New owner" error={problem}>
        {(field) => (
          <div className="flex flex-wrap gap-2">
            <input
              {...field}
              value={to}
              onChange={(event) => {
                setTo(event.target.value)
                setProblem(undefined)
              }}
              placeholder="0x…"
              spellCheck={false}
              autoComplete="off"
              maxLength={60}
              className={`${inputLook} min-w-56 flex-1 font-mono`}
            />
            <Button type="submit" isBusy={offer.isPending} disabled={!isOwner}>
              Sign and offer
            </Button>
          </div>
        )}
      </Field>
      <WriteOutcome write={offer} done="Offered. The new owner finds it in his console." />
    </form>
  )
}

function TakeBack({ merchant }: { merchant: MerchantView }) {
  const take = useWrite((client, _: null) => client.offerOwner(merchant.id, null))
  return (
    <span className="space-y-2">
      <Button size="sm" isBusy={take.isPending} onClick={() => take.mutate(null)}>
        Take the offer back
      </Button>
      <WriteOutcome write={take} done="Taken back." />
    </span>
  )
}

function Accept({ merchant }: { merchant: MerchantView }) {
  const accept = useWrite((client, _: null) => client.acceptOwner(merchant.id))
  return (
    <div className="space-y-3">
      <Button look="primary" isBusy={accept.isPending} onClick={() => accept.mutate(null)}>
        Sign and accept
      </Button>
      <WriteOutcome write={accept} done="It is yours." />
    </div>
  )
}

function DeleteListing({ merchant, isOwner }: { merchant: MerchantView; isOwner: boolean }) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Section
      title="Delete"
      note="The listing leaves the directory at once. Its id stays yours, and its signed history stays public."
    >
      <Button look="danger" disabled={!isOwner} onClick={() => setIsAsking(true)}>
        Delete this listing
      </Button>
      {isAsking && <Ask id={merchant.id} onClose={() => setIsAsking(false)} />}
    </Section>
  )
}

function Ask({ id, onClose }: { id: string; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [, go] = useLocation()
  const { write } = useSigning()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => write((client) => client.delete(id)),
    onSuccess: () => {
      go('/console')
      queries.removeQueries({ queryKey: ['merchant', id] })
      return queries.invalidateQueries()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typed === id) remove.mutate()
  }
  return (
    <Dialog title="Delete this listing?" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <Field label={`Type ${id} to confirm`}>
          {(field) => (
            <input
              {...field}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              spellCheck={false}
              autoComplete="off"
              className={`${inputLook} font-mono`}
            />
          )}
        </Field>
        <WriteOutcome write={remove} done="Deleted." />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it</Button>
          <Button type="submit" look="danger" isBusy={remove.isPending} disabled={typed !== id}>
            Sign and delete
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** One signed write of a listing that is there; everything shown is read anew when it is done. */
function useWrite<Input>(act: (client: ListingClient, input: Input) => Promise<unknown>) {
  const { write } = useSigning()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => write((client) => act(client, input)),
    onSuccess: () => queries.invalidateQueries(),
  })
}

/** How a signed write ended, or that the wallet is waiting. */
function WriteOutcome({
  write,
  done,
}: {
  write: { isPending: boolean; isSuccess: boolean; error: unknown }
  done: string
}) {
  if (write.isPending) {
    return (
      <p role="status" className="text-sm text-muted">
        Answer in the wallet.
      </p>
    )
  }
  if (write.error !== null) {
    const rejected = isRejection(write.error)
    return (
      <Notice tone={rejected ? 'warn' : 'bad'} title={rejected ? 'Not signed' : 'Not done'}>
        {describeError(write.error)}
      </Notice>
    )
  }
  return write.isSuccess ? <Notice tone="ok">{done}</Notice> : null
}
