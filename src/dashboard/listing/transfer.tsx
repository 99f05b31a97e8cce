import { type FormEvent, useState } from 'react'
import type { Address } from 'viem'
import { isMistyped } from '../../listing-client/listing.js'
import type { MerchantView } from '../api/types.js'
import { Button } from '../components/button.js'
import { Card, Section } from '../components/card.js'
import { Field, inputLook } from '../components/field.js'
import { Hex } from '../components/hex.js'
import { Moment } from '../components/moment.js'
import { sameAddress } from '../format/hostile-text.js'
import { MISTYPED } from './compose-listing.js'
import { useWrite } from './use-write.js'
import { WriteOutcome } from './write-outcome.js'

interface TransferProps {
  merchant: MerchantView
  isOwner: boolean
  address: string | undefined
}

/** Hands a listing on in two steps: the owner offers, and the new owner accepts with a key that is proven live. */
export function Transfer({ merchant, isOwner, address }: TransferProps) {
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
