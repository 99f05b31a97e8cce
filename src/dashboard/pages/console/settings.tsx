import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Address } from 'viem'
import { useConnection } from 'wagmi'
import { useLocation } from 'wouter'
import type { MerchantView } from '../../../api/listings.js'
import { hasWrongChecksum } from '../../../x402/address.js'
import { Button } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Dialog } from '../../components/dialog.js'
import { TextField } from '../../components/field.js'
import { Moment } from '../../components/moment.js'
import { Sentence } from '../../components/sentence.js'
import { say } from '../../components/toast.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress, shortHex } from '../../format/untrusted-text.js'
import { useWrite, WriteOutcome } from '../../wallet/signed-write.js'
import { useSigning } from '../../wallet/signing.js'
import { IdentityChecks } from '../merchant/identity-checks.js'
import { Webhooks } from './webhooks.js'
import { words } from './words.js'

const MISTYPED =
  'This address looks mistyped: its EIP-55 checksum is wrong. Copy it again, or write it in lower case if every digit is right.'

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
  if (signer === null) return words.settings.noOwner
  return address === undefined
    ? words.settings.connectFirst(shortHex(signer))
    : words.settings.onlyWallet(shortHex(signer))
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
  const link = useWrite(merchant.id, (client, id: string | null) =>
    client.linkAgent(merchant.id, id),
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!/^\d{1,78}$/.test(agentId.trim())) return setProblem(words.agent.idFormat)
    link.mutate(agentId.trim().replace(/^0+(?=\d)/, ''))
  }
  return (
    <Section title={words.agent.title} note={words.agent.note}>
      <IdentityChecks merchant={merchant} />
      <form onSubmit={submit} noValidate className="space-y-3">
        <TextField
          label={words.agent.id}
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
                {words.agent.link}
              </Button>
              {merchant.agentId !== null && (
                <Button
                  variant="quiet"
                  isBusy={link.isPending}
                  why={why}
                  onClick={() => link.mutate(null)}
                >
                  {words.agent.unlink}
                </Button>
              )}
            </>
          }
        />
        <WriteOutcome
          write={link}
          done={link.variables === null ? words.agent.unlinked : words.agent.linked}
        />
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
  const confirm = useWrite(id, (client, next: `0x${string}` | null) =>
    client.confirmPayTo(id, next),
  )
  if (owner === null || payToProof === 'owner' || payToProof === 'operator') return null
  const isConfirmed = payToProof === 'confirmation'
  const isPaid = sameAddress(address, payTo)
  return (
    <Section title={words.payout.title} note={words.payout.note}>
      <Card className="flex flex-wrap items-center justify-between gap-3 px-5 py-4 text-sm">
        <span>
          <Sentence
            text={isConfirmed ? words.payout.confirmed : words.payout.unconfirmed}
            parts={{ address: <Hex hex={payTo} kind="address" /> }}
          />
        </span>
        <Button
          variant={isConfirmed ? 'quiet' : 'secondary'}
          isBusy={confirm.isPending}
          why={whyNot(address, payTo)}
          onClick={() => confirm.mutate(isConfirmed ? null : (owner as `0x${string}`))}
        >
          {isConfirmed ? words.payout.withdraw : words.payout.confirm}
        </Button>
      </Card>
      {!isPaid && <p className="text-sm text-muted">{words.payout.switchWallet}</p>}
      <WriteOutcome
        write={confirm}
        done={confirm.variables === null ? words.payout.withdrawnNow : words.payout.confirmedNow}
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
    <Section title={words.transfer.title} note={words.transfer.note}>
      {offer !== null && (
        <Card className="flex flex-wrap items-center justify-between gap-3 px-5 py-4 text-sm">
          <span>
            <Sentence
              text={words.transfer.offered}
              parts={{
                wallet: <Hex hex={offer.to} kind="address" />,
                when: <Moment at={offer.until * 1000} />,
              }}
            />
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
    merchant.id,
    (client, address: Address) => client.offerOwner(merchant.id, address),
    words.transfer.offeredNow,
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const address = to.trim()
    if (!/^0x[0-9a-fA-F]{40}$/.test(address)) return setProblem(words.settings.addressFormat)
    if (hasWrongChecksum(address)) return setProblem(MISTYPED)
    if (sameAddress(address, merchant.owner)) return setProblem(words.transfer.isOwner)
    offer.mutate(address as Address)
  }
  return (
    <form onSubmit={submit} noValidate className="space-y-3">
      <TextField
        label={words.transfer.newOwner}
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
            {words.transfer.offer}
          </Button>
        }
      />
      <WriteOutcome write={offer} />
    </form>
  )
}

function Withdraw({ merchant }: { merchant: MerchantView }) {
  const withdraw = useWrite(
    merchant.id,
    (client, _: null) => client.offerOwner(merchant.id, null),
    words.transfer.takenBack,
  )
  return (
    <span className="space-y-2">
      <Button size="sm" isBusy={withdraw.isPending} onClick={() => withdraw.mutate(null)}>
        {words.transfer.takeBack}
      </Button>
      <WriteOutcome write={withdraw} />
    </span>
  )
}

function Accept({ merchant }: { merchant: MerchantView }) {
  const accept = useWrite(
    merchant.id,
    (client, _: null) => client.acceptOwner(merchant.id),
    words.transfer.accepted,
  )
  return (
    <div className="space-y-3">
      <p className="text-sm text-pretty">{words.transfer.acceptNote}</p>
      <Button variant="primary" isBusy={accept.isPending} onClick={() => accept.mutate(null)}>
        {words.transfer.accept}
      </Button>
      <WriteOutcome write={accept} />
    </div>
  )
}

function DeleteListing({ merchant, why }: PartProps) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <Section title={words.remove.title} note={words.remove.note}>
      <Button variant="danger" why={why} onClick={() => setIsAsking(true)}>
        {words.remove.open}
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
      say(words.remove.deleted(id))
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
    <Dialog title={words.remove.ask} onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <TextField label={words.remove.typeId(id)} value={typed} onChange={setTyped} isCode />
        <WriteOutcome write={remove} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{words.remove.keep}</Button>
          <Button
            type="submit"
            variant="danger"
            isBusy={remove.isPending}
            why={typed === id ? undefined : words.remove.typeIdFirst(id)}
          >
            {words.remove.sign}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
