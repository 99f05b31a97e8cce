import { Link } from 'wouter'
import type { PaymentStatus } from '../../../../api/payments.js'
import { paymentPath } from '../../../api/queries.js'
import { Badge } from '../../../components/badge.js'
import { Button, quietLink } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { Fact } from '../../../components/figures.js'
import { Hex } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { manyLines, oneLine } from '../../../format/untrusted-text.js'
import type { Attempt } from './attempt.js'
import type { Reply, SignedPayment } from './payment.js'
import { endOf, type Standing, useStanding } from './standing.js'
import { words } from './words.js'

/** Shows how the last attempt ended: the answer, the cost, the transaction and the receipt. */
export function Result({ attempt, symbol }: { attempt: Attempt; symbol: string }) {
  const { step, refusal, signed, reply, settlement } = attempt
  const { standing, payment, isOpen } = useStanding(attempt)
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
      {signed === undefined || standing === undefined ? (
        reply.ok && <Notice title={words.free}>{words.freeText(reply.status)}</Notice>
      ) : (
        <>
          <Outcome {...{ standing, signed, reply, isOpen }} />
          <Money {...{ standing, signed, payment, symbol }} told={settlement?.transaction} />
        </>
      )}
      {reply.ok && <Answer reply={reply} />}
    </div>
  )
}

/** Says how the payment stands. While it may still be taken, nothing here says that it was not paid. */
function Outcome({
  standing,
  signed,
  reply,
  isOpen,
}: {
  standing: Standing
  signed: SignedPayment
  reply: Reply
  isOpen: boolean
}) {
  const isServed = reply.ok && reply.status < 400
  const silence = reply.ok ? '' : `${oneLine(reply.message, 300)} `
  const titles = {
    paid: isServed ? words.paid : words.paidButRefused,
    settling: words.settling,
    failed: words.failed,
    checking: words.checking,
    claimed: words.claimed,
    unasked: words.claimedUnasked,
    unsent: words.notSent,
    open: reply.ok ? words.notTaken : words.unknown,
    expired: words.expired,
  } satisfies Record<Standing, string>
  const isQuiet = standing === 'settling' || standing === 'checking'
  const isGood = standing === 'paid' && isServed
  const tone = isGood ? 'ok' : standing === 'failed' ? 'bad' : isQuiet ? 'info' : 'warn'
  return (
    <Notice tone={tone} title={titles[standing]}>
      {standing === 'unsent' && `${silence}${words.notSentText}`}
      {isOpen && !isQuiet && `${silence}${words.notTakenText(endOf(signed))}`}
    </Notice>
  )
}

function Money({
  standing,
  signed,
  payment,
  told,
  symbol,
}: {
  standing: Standing
  signed: SignedPayment
  payment: PaymentStatus | undefined
  /** The transaction, as the seller names it. */
  told: string | undefined
  symbol: string
}) {
  const transaction = payment?.transaction ?? (told || null)
  const isFree = standing === 'failed' || standing === 'expired' || standing === 'unsent'
  const amount = payment?.amount ?? signed.amount
  return (
    <dl className="divide-y divide-line text-sm">
      <Fact name={words.cost}>
        {isFree ? words.nothingKnown : exactAmount(atomicToUsd(amount), symbol)}
      </Fact>
      {transaction !== null && (
        <Fact name={payment?.transaction == null ? words.toldTransaction : words.transaction}>
          <Hex hex={transaction} kind="tx" network={signed.network} />
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
