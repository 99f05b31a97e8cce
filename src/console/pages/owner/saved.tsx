import type { MerchantView } from '@arcus/protocol/answers/listings'
import { useSearchParams } from 'wouter'
import { Button, ButtonLink } from '../../components/button.js'
import { Note, Notice } from '../../components/card.js'
import { UntrustedText } from '../../components/untrusted-text.js'
import { counted } from '../../format/amounts.js'
import { healthCounts } from '../../format/health.js'
import { type Level, verdictName, warningLevel, warningText } from '../../format/verdicts.js'

/** Says after a save (`?saved` in the address) whether the APIs are in the directory, and what is left to do. */
export function SavedNote({ merchant }: { merchant: MerchantView }) {
  const [params, setParams] = useSearchParams()
  if (!params.has('saved')) return null
  const close = () =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before)
        after.delete('saved')
        return after
      },
      { replace: true },
    )
  const { tone, title } = outcomeOf(merchant)
  return (
    <section aria-label="Saved" className="space-y-3">
      <Notice
        tone={tone}
        title={title}
        action={
          <span className="flex flex-wrap gap-2">
            <ButtonLink size="sm" href={`/merchants/${encodeURIComponent(merchant.id)}`}>
              Public page
            </ButtonLink>
            <ButtonLink size="sm" href="/console/new">
              Sell another API
            </ButtonLink>
            <Button size="sm" variant="quiet" onClick={close}>
              Close
            </Button>
          </span>
        }
      >
        {tone === 'ok' ? 'Payments appear here as they arrive.' : 'Arcus tries again by itself.'}
      </Notice>
      {warningsOf(merchant).map(({ level, text, about, cure, part }) => (
        <Note
          key={text}
          level={level}
          action={
            <ButtonLink size="sm" href={`/console/${encodeURIComponent(merchant.id)}/${part}`}>
              {cure}
            </ButtonLink>
          }
        >
          <UntrustedText text={text} max={600} />
          {about.length > 0 && (
            <span className="block text-xs">
              <UntrustedText text={about.join(', ')} max={200} />
            </span>
          )}
        </Note>
      ))}
    </section>
  )
}

function outcomeOf({ flags, endpoints }: MerchantView) {
  const live = endpoints.filter(({ state }) => state.status === 'live')
  const other = endpoints.find(({ state }) => state.status !== 'live')
  if (flags.hidden) return { tone: 'warn', title: 'Saved, and hidden by the operator' } as const
  const worst = healthCounts(endpoints.map(({ state, price }) => ({ ...state, price })))[0]
  if (other === undefined && worst?.kind !== 'live' && worst !== undefined) {
    return { tone: 'warn', title: `Saved, in the directory: ${worst.name.toLowerCase()}` } as const
  }
  if (other === undefined) return { tone: 'ok', title: 'Live in the directory' } as const
  if (live.length > 0) {
    const apis = counted(endpoints.length, { one: '# API', other: '# APIs' })
    return {
      tone: 'warn',
      title: `Saved: ${live.length} of ${apis} live in the directory`,
    } as const
  }
  const verdict = verdictName(other.state.probe?.verdict ?? 'not_checked')
  const why = verdict.charAt(0).toLowerCase() + verdict.slice(1)
  return { tone: 'warn', title: `Saved, not in the directory yet: ${why}` } as const
}

interface Warning {
  level: Level
  text: string
  /** Titles of the APIs that it concerns, if not all. */
  about: string[]
  cure: string
  /** The part of the console that cures it. */
  part: 'endpoints' | 'settings'
}

/** Groups the warnings of a listing, so that each is said once however many APIs it concerns. */
function warningsOf({ warnings, endpoints }: MerchantView): Warning[] {
  const found = new Map<string, Warning>()
  for (const { path, code, message } of warnings) {
    const endpoint = endpoints[Number(/^endpoints\[(\d+)\]/.exec(path)?.[1])]
    const warning = { ...explain(code, message), about: [] }
    const known = found.get(warning.text) ?? warning
    if (endpoint !== undefined && endpoints.length > 1) known.about.push(endpoint.title)
    found.set(warning.text, known)
  }
  return [...found.values()]
}

function explain(code: string, message: string): Omit<Warning, 'about'> {
  const editing = { cure: 'Edit', part: 'endpoints' } as const
  switch (code) {
    case 'pay_to_unproven':
      return {
        level: 'bad',
        text: 'Payments are not counted for you yet: the key of the payout address has to confirm you once.',
        cure: 'Confirm the address',
        part: 'settings',
      }
    case 'confusable_name':
      return { level: 'warn', text: message, ...editing }
    case 'unverified':
    case 'failing':
      return { level: 'bad', text: message, ...editing }
    default:
      return { level: warningLevel(code), text: warningText(code), ...editing }
  }
}
