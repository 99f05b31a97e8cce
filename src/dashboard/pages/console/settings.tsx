import { useMutation, useQueryClient } from '@tanstack/react-query'
import { isMistyped } from 'arcus-client/listing'
import { type FormEvent, useState } from 'react'
import type { Address } from 'viem'
import { useConnection } from 'wagmi'
import { useLocation } from 'wouter'
import type { MerchantView } from '../../../api/listings.js'
import { Button } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Dialog } from '../../components/dialog.js'
import { TextField } from '../../components/field.js'
import { Moment } from '../../components/moment.js'
import { say } from '../../components/toast.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress, shortHex } from '../../format/untrusted-text.js'
import { useWrite, WriteOutcome } from '../../wallet/signed-write.js'
import { useSigning } from '../../wallet/signing.js'
import { IdentityChecks } from '../merchant/identity-checks.js'
import { MISTYPED } from './editor/compose-listing.js'
import { Webhooks } from './webhooks.js'

/** Settings of a listing that change seldom. Each takes a signature of its own. */
export function ListingSettings({ merchant }: { merchant: MerchantView }) {
  const { address } = useConnection()
  const why = whyNot(address, merchant.owner)
  return (
    <div className="max-w-3xl space-y-12">
      <AgentLink merchant={merchant} why={why} />
      <PayoutProof merchant={merchant} address={address} />
      <Webhooks merchant={merchant} why={why} />
      <Transfer merchant={merchant} why={why} address={address} />
      <DeleteListing merchant={merchant} why={why} />
    </div>
  )
}

/** Says why the connected wallet cannot sign for this address; nothing if it can. */
function whyNot(address: string | undefined, signer: string | null): string | undefined {
  if (sameAddress(address, signer)) return undefined
  if (signer === null) return 'Nobody owns this listing.'
  return address === undefined
    ? `Connect the wallet ${shortHex(signer)} first.`
    : `Only the wallet ${shortHex(signer)} can sign this. Switch to it above.`
}

interface PartProps {
  merchant: MerchantView
  /** The reason why the connected wallet cannot sign. */
  why: string | undefined
}

/** Links the ERC-8004 agent of the merchant and shows its four checks. */
function AgentLink({ merchant, why }: PartProps) {
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
      note="Link the agent of this merchant. Arcus makes four checks, repeats them, and shows the result and date of each."
    >
      <IdentityChecks merchant={merchant} />
      <form onSubmit={submit} noValidate className="space-y-3">
        <TextField
          label="Agent id"
          error={problem}
          value={agentId}
          onChange={(text) => {
            setAgentId(text)
            setProblem(undefined)
          }}
          inputMode="numeric"
          isCode
          maxLength={78}
          className="max-w-48"
          beside={
            <>
              <Button type="submit" isBusy={link.isPending} why={why}>
                Sign and link
              </Button>
              {merchant.agentId !== null && (
                <Button
                  variant="quiet"
                  isBusy={link.isPending}
                  why={why}
                  onClick={() => link.mutate(null)}
                >
                  Unlink
                </Button>
              )}
            </>
          }
        />
        <WriteOutcome write={link} done="Signed. Arcus makes the checks now." />
      </form>
    </Section>
  )
}

/**
 * Shows whether the payout address has confirmed the owner, and has it sign the confirmation. Shows nothing if the owner
 * is paid directly or the operator vouches for the address.
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
      note="Anybody can list an address of somebody else. Payments count for this listing once the key of the address confirms the owner."
    >
      <Card className="flex flex-wrap items-center justify-between gap-3 px-5 py-4 text-sm">
        <span>
          <Hex hex={payTo} kind="address" />{' '}
          {isConfirmed ? 'has confirmed the owner.' : 'has not confirmed the owner yet.'}
        </span>
        <Button
          variant={isConfirmed ? 'quiet' : 'secondary'}
          isBusy={confirm.isPending}
          why={whyNot(address, payTo)}
          onClick={() => confirm.mutate(isConfirmed ? null : (owner as `0x${string}`))}
        >
          {isConfirmed ? 'Withdraw it' : 'Sign and confirm'}
        </Button>
      </Card>
      {!isPaid && (
        <p className="text-sm text-muted">To sign, switch to the wallet of the payout address.</p>
      )}
      <WriteOutcome
        write={confirm}
        done={
          isConfirmed ? 'Confirmed. Payments count from now on.' : 'The confirmation is withdrawn.'
        }
      />
    </Section>
  )
}

interface TransferProps extends PartProps {
  address: string | undefined
}

/** Transfers a listing in two steps: the owner offers it, and the new owner accepts with their own key. */
function Transfer({ merchant, why, address }: TransferProps) {
  const { offer } = merchant
  const isOffered = sameAddress(offer?.to, address)
  return (
    <Section
      title="Transfer"
      note="You offer it, and the new owner accepts within seven days. The transfer removes the agent link and the marks of the operator. The payout address stays until the new owner changes it."
    >
      {offer !== null && (
        <Card className="flex flex-wrap items-center justify-between gap-3 px-5 py-4 text-sm">
          <span>
            Offered to <Hex hex={offer.to} kind="address" />. The offer ends{' '}
            <Moment at={offer.until * 1000} />.
          </span>
          {why === undefined && <Withdraw merchant={merchant} />}
        </Card>
      )}
      {isOffered && <Accept merchant={merchant} />}
      {offer === null && <Offer merchant={merchant} why={why} />}
    </Section>
  )
}

function Offer({ merchant, why }: PartProps) {
  const [to, setTo] = useState('')
  const [problem, setProblem] = useState<string>()
  const offer = useWrite(
    (client, address: Address) => client.offerOwner(merchant.id, address),
    'Offered. The new owner finds it in their console.',
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const address = to.trim()
    if (!/^0x[0-9a-fA-F]{40}$/.test(address))
      return setProblem('Give an address: 0x and 40 digits.')
    if (isMistyped(address)) return setProblem(MISTYPED)
    if (sameAddress(address, merchant.owner))
      return setProblem('This address is the present owner.')
    offer.mutate(address as Address)
  }
  return (
    <form onSubmit={submit} noValidate className="space-y-3">
      <TextField
        label="New owner"
        error={problem}
        value={to}
        onChange={(text) => {
          setTo(text)
          setProblem(undefined)
        }}
        placeholder="0x…"
        isCode
        maxLength={60}
        className="!min-w-56"
        beside={
          <Button type="submit" isBusy={offer.isPending} why={why}>
            Sign and offer
          </Button>
        }
      />
      <WriteOutcome write={offer} />
    </form>
  )
}

function Withdraw({ merchant }: { merchant: MerchantView }) {
  const withdraw = useWrite(
    (client, _: null) => client.offerOwner(merchant.id, null),
    'The offer is taken back.',
  )
  return (
    <span className="space-y-2">
      <Button size="sm" isBusy={withdraw.isPending} onClick={() => withdraw.mutate(null)}>
        Take the offer back
      </Button>
      <WriteOutcome write={withdraw} />
    </span>
  )
}

function Accept({ merchant }: { merchant: MerchantView }) {
  const accept = useWrite(
    (client, _: null) => client.acceptOwner(merchant.id),
    'The listing is yours. Look at its payout address next.',
  )
  return (
    <div className="space-y-3">
      <p className="text-sm text-pretty">
        With you it begins anew: a payout address other than your wallet has to confirm you, and you
        see the payments from then on, not those before. Buyers pay the present address until you
        save another.
      </p>
      <Button variant="primary" isBusy={accept.isPending} onClick={() => accept.mutate(null)}>
        Sign and accept
      </Button>
      <WriteOutcome write={accept} />
    </div>
  )
}

function DeleteListing({ merchant, why }: PartProps) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Section
      title="Delete"
      note="The listing leaves the directory at once. Its id stays yours, and its signed history stays public."
    >
      <Button variant="danger" why={why} onClick={() => setIsAsking(true)}>
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
      say(`${id} is deleted. Its id stays yours.`)
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
        <TextField label={`Type ${id} to confirm`} value={typed} onChange={setTyped} isCode />
        <WriteOutcome write={remove} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it</Button>
          <Button
            type="submit"
            variant="danger"
            isBusy={remove.isPending}
            why={typed === id ? undefined : `Type ${id} first.`}
          >
            Sign and delete
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
