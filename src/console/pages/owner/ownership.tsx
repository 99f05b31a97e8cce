import type { MerchantView } from '@arcus/protocol/answers/listings'
import { type Address, isAddress } from 'viem'
import { Badge } from '../../components/badge.js'
import { Card, Section } from '../../components/card.js'
import { Fact } from '../../components/facts.js'
import { Moment } from '../../components/moment.js'
import { Hex } from '../../components/untrusted-text.js'
import { sameAddress } from '../../format/untrusted-text.js'
import { useWrite } from '../../wallet/signing.js'
import { SignedButton, SignedLine } from './signed.js'

/** The rights of the connected wallet over a listing. */
export interface WalletRole {
  isOwner: boolean
  /** True if the wallet is the payout address. */
  isPaid: boolean
  /** True if the listing is offered to the wallet. */
  isOffered: boolean
}

const MISTYPED =
  'This address looks mistyped: its EIP-55 checksum is wrong. Copy it again, or write it in lower case if every digit is right.'

interface Props {
  merchant: MerchantView
  role: WalletRole
}

const proofs = {
  owner: 'This is the wallet of the owner.',
  operator: 'The operator of this service vouches for it.',
  confirmation: 'It has confirmed the owner.',
} as const

/** Shows who is paid and who owns the listing, and lets the connected wallet change what it may. */
export function Ownership({ merchant, role }: Props) {
  const { id, owner, payTo, payToProof, offer } = merchant
  return (
    <Section title="Payout and owner">
      {role.isOffered && <Accept merchant={merchant} />}
      <Card>
        <dl className="divide-y divide-line px-5 text-sm">
          <Fact name="Payout address">
            <Hex hex={payTo} kind="address" />{' '}
            {payToProof === null && <Badge tone="warn">Not confirmed</Badge>}
            <p className="mt-1 text-pretty text-muted">
              {payToProof === null
                ? 'Anybody can list an address that is not theirs. Payments count here once the key of this address has confirmed the owner with a signature.'
                : proofs[payToProof]}
            </p>
            <Confirmation merchant={merchant} role={role} />
          </Fact>
          {owner !== null && (
            <Fact name="Owner">
              <Hex hex={owner} kind="address" />
              {offer !== null && (
                <div className="mt-2 flex flex-wrap items-center gap-3 text-muted">
                  <span>
                    Offered to <Hex hex={offer.to} kind="address" />. The offer ends{' '}
                    <Moment at={offer.until * 1000} />.
                  </span>
                  {role.isOwner && (
                    <SignedButton
                      id={id}
                      size="sm"
                      act={(client) => client.offerOwner(id, null)}
                      done="The offer is taken back."
                    >
                      Take the offer back
                    </SignedButton>
                  )}
                </div>
              )}
            </Fact>
          )}
        </dl>
      </Card>
      {role.isOwner && offer === null && <Offer merchant={merchant} />}
    </Section>
  )
}

/** Has the payout address confirm the owner, or take that back. It has nothing to do where the owner is paid directly. */
function Confirmation({ merchant: { id, owner, payToProof }, role }: Props) {
  if (owner === null || payToProof === 'owner' || payToProof === 'operator') return null
  const isConfirmed = payToProof === 'confirmation'
  if (!role.isPaid) {
    if (isConfirmed) return null
    return <p className="mt-1 text-muted">To sign, switch to the wallet of this address.</p>
  }
  return (
    <div className="mt-3 flex flex-wrap gap-3">
      <SignedButton
        id={id}
        key={String(isConfirmed)}
        variant={isConfirmed ? 'quiet' : 'primary'}
        act={(client) => client.confirmPayTo(id, isConfirmed ? null : (owner as Address))}
        done={
          isConfirmed ? 'The confirmation is withdrawn.' : 'Confirmed. Payments count from now on.'
        }
      >
        {isConfirmed ? 'Sign and withdraw' : 'Sign and confirm'}
      </SignedButton>
    </div>
  )
}

function Offer({ merchant: { id, owner } }: { merchant: MerchantView }) {
  const offer = useWrite(
    id,
    (client, address: Address) => client.offerOwner(id, address),
    'Offered. The new owner finds it in their console.',
  )
  const check = (address: string) => {
    if (!/^0x[0-9a-fA-F]{40}$/.test(address)) return 'Give an address: 0x and 40 digits.'
    if (!isAddress(address)) return MISTYPED
    return sameAddress(address, owner) ? 'This address is the owner already.' : undefined
  }
  return (
    <Card className="space-y-3 px-5 py-4">
      <SignedLine
        write={offer}
        label="New owner"
        action="Sign and offer"
        check={check}
        placeholder="0x… address"
        maxLength={60}
      />
      <p className="text-sm text-pretty text-muted">
        The new owner accepts within seven days with a signature of their own. The agent link and
        the marks of the operator end then. Buyers pay the present address until the new owner
        changes it.
      </p>
    </Card>
  )
}

function Accept({ merchant: { id, offer } }: { merchant: MerchantView }) {
  return (
    <Card className="space-y-3 px-5 py-4 text-sm">
      <h3 className="font-semibold">This listing is offered to you</h3>
      <p className="text-pretty text-muted">
        Some things start again when you accept. A payout address other than your wallet has to
        confirm you. You see payments from then on, not earlier ones. Buyers pay the present address
        until you save another one.
        {offer !== null && (
          <>
            {' '}
            The offer ends <Moment at={offer.until * 1000} />.
          </>
        )}
      </p>
      <SignedButton
        id={id}
        variant="primary"
        act={(client) => client.acceptOwner(id)}
        done="You are the owner now. Make sure that the payout address is right."
      >
        Sign and accept
      </SignedButton>
    </Card>
  )
}
