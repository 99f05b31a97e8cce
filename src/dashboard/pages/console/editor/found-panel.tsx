import { Moment } from '../../../components/moment.js'
import { Sentence } from '../../../components/sentence.js'
import { Hex, UntrustedText } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { warningText } from '../../../format/verdicts.js'
import type { EndpointDraft } from './draft.js'
import { differences, openWarnings } from './found.js'
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
        <Sentence text={words.checked} parts={{ when: <Moment at={found.checkedAt * 1_000} /> }} />
      </p>
    </section>
  )
}
