import { useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import type { PaymentStatus } from '../../../../api/payments.js'
import { paymentPath } from '../../../api/queries.js'
import { Badge } from '../../../components/badge.js'
import { Button, CopyButton, quietLink } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { Fact } from '../../../components/figures.js'
import { Hex } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { manyLines, oneLine } from '../../../format/untrusted-text.js'
import type { Reply } from './call.js'
import type { SignedPayment } from './payment.js'
import type { Run, RunState } from './run.js'
import { endOf, type Standing, useStanding } from './standing.js'
import { words } from './words.js'

export function useRun(run: Run): RunState {
  return useSyncExternalStore(run.subscribe, run.get)
}

/** Shows how the last run ended: the answer, the cost, the transaction and its proofs. */
export function Result({ state, symbol }: { state: RunState; symbol: string }) {
  const { step, refusal, signed, reply } = state
  const { standing, payment } = useStanding(state)
  if (step !== 'idle' && signed === undefined) return null
  if (refusal !== undefined) {
    return (
      <Notice tone="warn" title={refusal.title}>
        <bdi>{oneLine(refusal.text, 600)}</bdi>
      </Notice>
    )
  }
  if (reply === undefined) return null
  return (
    <div className="space-y-4">
      {signed === undefined && reply.ok ? (
        <Notice title={words.free}>{words.freeText(reply.status)}</Notice>
      ) : (
        signed !== undefined &&
        standing !== undefined && <Outcome {...{ standing, signed, reply, state }} />
      )}
      {signed !== undefined && <Money {...{ state, signed, standing, payment, symbol }} />}
      {reply.ok && <Answer reply={reply} />}
    </div>
  )
}

function Outcome({
  standing,
  signed,
  reply,
  state,
}: {
  standing: Standing
  signed: SignedPayment
  reply: Reply
  state: RunState
}) {
  const isServed = reply.ok && reply.status < 400
  if (standing === 'paid') {
    return isServed ? (
      <Notice tone="ok" title={words.paid} />
    ) : (
      <Notice tone="warn" title={words.paidButRefused} />
    )
  }
  if (standing === 'settling') return <Notice title={words.settling} />
  if (standing === 'expired') return <Notice tone="warn" title={words.expired} />
  if (standing === 'checking') return <Notice title={words.checking} />
  const until = endOf(signed)
  const isOver = Date.now() / 1000 >= signed.validBefore
  const warning = isOver ? undefined : words.notTakenText(until)
  if (standing === 'failed') {
    return (
      <Notice tone="bad" title={words.failed}>
        {warning}
      </Notice>
    )
  }
  if (standing === 'claimed' || standing === 'unasked') {
    const title = isUncharged(state)
      ? words.chargedNothing
      : standing === 'claimed'
        ? words.claimed
        : words.claimedUnasked
    return (
      <Notice tone="warn" title={title}>
        {warning}
      </Notice>
    )
  }
  if (state.isUnsent === true && !reply.ok) {
    return (
      <Notice tone="warn" title={words.notSent}>
        {oneLine(reply.message, 300)} {words.notSentText}
      </Notice>
    )
  }
  return (
    <Notice tone="warn" title={reply.ok ? words.notTaken : words.unknown}>
      {reply.ok ? words.notTakenText(until) : `${oneLine(reply.message, 300)} ${words.unknownText}`}
    </Notice>
  )
}

/** Tells whether the seller says that it took nothing of a ceiling. Such a payment never comes to the service's journal. */
function isUncharged({ signed, settlement }: RunState): boolean {
  return signed?.isCeiling === true && settlement?.amount === '0'
}

function Money({
  state,
  signed,
  standing,
  payment,
  symbol,
}: {
  state: RunState
  signed: SignedPayment
  standing: Standing | undefined
  payment: PaymentStatus | undefined
  symbol: string
}) {
  const { settlement } = state
  const { network, isCeiling } = signed
  const most = exactAmount(atomicToUsd(signed.amount), symbol)
  const moved = payment === undefined ? undefined : exactAmount(atomicToUsd(payment.amount), symbol)
  const transaction = payment?.transaction ?? settlement?.transaction
  // The journal knows better than a seller who says that nothing was charged.
  const isFree =
    standing === 'failed' ||
    standing === 'expired' ||
    (payment === undefined && (isUncharged(state) || state.isUnsent === true))
  const cost = isCeiling ? (moved ?? words.atMost(most)) : most
  return (
    <dl className="divide-y divide-line text-sm">
      <Fact name={words.cost}>{isFree ? words.nothingKnown : cost}</Fact>
      {isCeiling && <Fact name={words.ceiling}>{most}</Fact>}
      {transaction != null && (
        <Fact name={payment?.transaction == null ? words.toldTransaction : words.transaction}>
          <Hex hex={transaction} kind="tx" network={network} />
        </Fact>
      )}
      <Fact name={words.receipt}>
        <span className="flex flex-wrap gap-x-4 gap-y-1">
          {payment?.state === 'confirmed' && (
            <a
              className={quietLink}
              target="_blank"
              rel="noopener"
              href={paymentPath(signed, '/receipt')}
            >
              {words.receipt}
            </a>
          )}
          <Link className={quietLink} href={paymentPath(signed)}>
            {words.lookUp}
          </Link>
        </span>
      </Fact>
      {settlement?.attestation !== undefined && (
        <Fact name={words.proof}>
          <span className="inline-flex items-center gap-2">
            <CopyButton text={JSON.stringify(settlement.attestation)} name={words.proof} />
            <Link className={quietLink} href="/payments/attestation">
              {words.checkProof}
            </Link>
          </span>
        </Fact>
      )}
    </dl>
  )
}

/** Longest text that is shown; the download has all. */
const MAX_SHOWN_CHARS = 20_000

/** Shows the body as text, or offers the bytes. Nothing of it becomes markup. */
function Answer({ reply }: { reply: Reply & { ok: true } }) {
  const type = oneLine(reply.headers['content-type'] ?? words.unknownType, 80)
  const text = textOf(reply.bytes)
  const isCut = text !== undefined && text.length > MAX_SHOWN_CHARS
  const download = () => {
    // The type of the seller is not used, because the browser must not open the answer under this origin.
    const url = URL.createObjectURL(new Blob([reply.bytes], { type: 'application/octet-stream' }))
    const link = document.createElement('a')
    link.href = url
    link.download = 'answer'
    link.click()
    URL.revokeObjectURL(url)
  }
  return (
    <section aria-label={words.answer} className="space-y-2">
      <div className="flex flex-wrap items-center gap-3">
        <h5 className="text-sm font-medium">{words.answer}</h5>
        <Badge tone={reply.status < 400 ? 'ok' : 'warn'}>{reply.status}</Badge>
        <span className="text-xs text-muted">
          {reply.by === 'page' ? words.byPage : words.byService}
        </span>
        {reply.bytes.length > 0 && (
          <Button size="sm" className="ml-auto" onClick={download}>
            {words.download}
          </Button>
        )}
      </div>
      {reply.bytes.length === 0 ? (
        <p className="text-sm text-muted">{words.empty}</p>
      ) : text === undefined ? (
        <p className="text-sm text-muted">{words.binary(reply.bytes.length, type)}</p>
      ) : (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
          tabIndex={0}
          className="max-h-96 overflow-auto rounded-lg border border-line bg-sunken p-4 font-mono text-xs leading-5 break-words whitespace-pre-wrap"
        >
          <bdi dir="ltr">{manyLines(text, MAX_SHOWN_CHARS)}</bdi>
        </pre>
      )}
      {isCut && <p className="text-xs text-muted">{words.cut}</p>}
    </section>
  )
}

/** Returns bytes as text, JSON with indents; `undefined` for bytes that are no text. */
function textOf(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.includes('\0')) return undefined
    try {
      return JSON.stringify(JSON.parse(text), null, 2)
    } catch {
      return text
    }
  } catch {
    return undefined
  }
}
