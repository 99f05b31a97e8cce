import type { Listing } from 'arcus-client/listing'
import { When } from '../../../components/moment.js'
import { Hex, UntrustedText } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount, usdToAtomic } from '../../../format/amounts.js'
import { sameAddress, shortHex } from '../../../format/untrusted-text.js'
import { warningText } from '../../../format/verdicts.js'
import type { EndpointDraft } from './draft.js'
import { words as all } from './words.js'

const words = all.found

/** Shows the 402 of an endpoint beside its fields: price, address, network, and what is wrong with them. */
export function FoundPanel({ endpoint, payTo }: { endpoint: EndpointDraft; payTo: string }) {
  const { found } = endpoint
  if (found === null) return null
  const facts = [
    [words.price, exactAmount(atomicToUsd(found.price), found.symbol)],
    [words.payTo, <Hex key="payTo" hex={found.payTo} kind="address" network={found.network} />],
    [words.network, <UntrustedText key="network" text={found.network} max={40} />],
  ] as const
  const notes = [
    ...differences(endpoint, payTo),
    ...openWarnings(endpoint).map((code) => warningText(code)),
  ]
  return (
    <section aria-label={words.label} className="space-y-2 text-sm">
      <dl className="grid gap-x-6 gap-y-2 rounded-lg bg-sunken px-3 py-2 sm:grid-cols-3">
        {facts.map(([name, value]) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-muted">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
      </dl>
      {notes.map((note) => (
        <p key={note} className="rounded-lg bg-warn-soft px-3 py-2 text-pretty text-warn">
          {note}
        </p>
      ))}
      <p className="text-xs text-muted">
        <When text={words.checked} at={found.checkedAt * 1_000} />
      </p>
    </section>
  )
}

/** Warnings that concern the listing as it was, or what the owner may have written since. */
const answered = (draft: Pick<EndpointDraft, 'inputSchema'>, code: string) =>
  code === 'price_drift' || (code === 'schema_missing' && draft.inputSchema.trim() !== '')

/** Returns the codes of a check that still concern the endpoint as it stands in the form. */
export function openWarnings(draft: EndpointDraft): readonly string[] {
  return draft.found?.warnings.filter((code) => !answered(draft, code)) ?? []
}

/** Says in sentences how the endpoint in the form differs from its 402. */
export function differences(draft: EndpointDraft, payTo: Listing['payTo'] | string): string[] {
  const { found, price, asset } = draft
  if (found === null) return []
  const typed = usdToAtomic(price)
  const isOtherToken = asset !== '' && !sameAddress(asset, found.asset)
  const asks = exactAmount(atomicToUsd(found.price), found.symbol)
  return [
    ...(typed !== undefined && (typed !== found.price || isOtherToken)
      ? [words.otherPrice(asks)]
      : []),
    ...(payTo.trim() !== '' && !sameAddress(payTo.trim(), found.payTo)
      ? [words.otherPayTo(shortHex(found.payTo), shortHex(payTo.trim()))]
      : []),
  ]
}
