import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import { Link } from 'wouter'
import { paymentPath } from '../../../api/payment-queries.js'
import { Badge } from '../../../components/badge.js'
import { Button, quietLink } from '../../../components/button.js'
import { Notice } from '../../../components/card.js'
import { Fact } from '../../../components/facts.js'
import { Hex } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { manyLines, oneLine } from '../../../format/untrusted-text.js'
import type { TryAttempt } from './attempt.js'
import type { EndpointReply, SignedPayment } from './payment.js'
import { PaymentLine } from './payment-line.js'
import { endOf, type PaymentStanding, useStanding } from './standing.js'

/** Shows how the last attempt ended: the answer, the cost, the transaction and the receipt. */
export function Result({ attempt, symbol }: { attempt: TryAttempt; symbol: string }) {
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
  if (reply === undefined) return signed && <PaymentLine payment={payment} />
  const answer = reply.ok && <Answer reply={reply} />
  if (signed === undefined || standing === undefined) {
    return (
      <div className="flex flex-1 flex-col gap-4">
        {reply.ok && (
          <Notice title="The API asked for no payment">
            It answered {reply.status} without one, and nothing was signed.
          </Notice>
        )}
        {answer}
      </div>
    )
  }
  return (
    <div className="flex flex-1 flex-col gap-4">
      {standing !== 'unsent' && <PaymentLine payment={payment} />}
      <Outcome standing={standing} signed={signed} reply={reply} isOpen={isOpen} />
      {answer}
      <Money
        standing={standing}
        signed={signed}
        payment={payment}
        symbol={symbol}
        told={settlement?.transaction}
      />
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
  standing: PaymentStanding
  signed: SignedPayment
  reply: EndpointReply
  isOpen: boolean
}) {
  const isServed = reply.ok && reply.status < 400
  const silence = reply.ok ? '' : `${oneLine(reply.message, 300)} `
  const titles = {
    paid: isServed
      ? 'Paid'
      : reply.ok
        ? 'Paid, and the API answered with an error'
        : 'Paid, and the answer is lost',
    settling: 'The payment is on its way to the chain.',
    failed: 'The payment failed: Arcus moved no money',
    checking: 'The seller says it is paid. Arcus looks the payment up…',
    claimed: 'The seller says it is paid; Arcus does not know this payment',
    unasked: 'The seller says it is paid; Arcus could not be asked',
    unsent: 'The payment was not sent',
    open: reply.ok
      ? 'The API did not confirm the payment'
      : 'It is not known whether the payment went through',
    expired: 'The payment can no longer be taken: its time is over',
  } satisfies Record<PaymentStanding, string>
  const isQuiet = standing === 'settling' || standing === 'checking'
  const isGood = standing === 'paid' && isServed
  const tone = isGood ? 'ok' : standing === 'failed' ? 'bad' : isQuiet ? 'info' : 'warn'
  return (
    <Notice tone={tone} title={titles[standing]}>
      {standing === 'unsent' && `${silence}The API did not get it, and nothing was paid.`}
      {isOpen &&
        !isQuiet &&
        `${silence}The seller may hold your signature, and could take this one payment, once, until ${endOf(signed)}. Until then no other one is signed here.`}
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
  standing: PaymentStanding
  signed: SignedPayment
  payment: PaymentStatus | undefined
  /** The transaction, as the seller names it. */
  told: string | undefined
  symbol: string
}) {
  const transaction = payment?.transaction ?? (told || null)
  const amount = exactAmount(atomicToUsd(payment?.amount ?? signed.amount), symbol)
  const isFree = standing === 'failed' || standing === 'expired' || standing === 'unsent'
  const isTaken = standing === 'paid' || standing === 'settling'
  return (
    <dl className="divide-y divide-line text-sm">
      <Fact name="Cost">
        {isFree ? 'nothing that Arcus knows of' : isTaken ? amount : `${amount}, if it is taken`}
      </Fact>
      {transaction !== null && (
        <Fact
          name={payment?.transaction == null ? 'Transaction, as the seller says' : 'Transaction'}
        >
          <Hex hex={transaction} kind="tx" network={signed.network} />
        </Fact>
      )}
      <Fact name="Receipt">
        <span className="flex flex-wrap gap-x-4 gap-y-1">
          {payment?.state === 'confirmed' && (
            <a
              className={quietLink}
              target="_blank"
              rel="noopener"
              href={paymentPath(signed, '/receipt')}
            >
              Receipt
            </a>
          )}
          <Link className={quietLink} href={paymentPath(signed)}>
            Look the payment up
          </Link>
        </span>
      </Fact>
    </dl>
  )
}

/** Longest text that is shown; the download has all. */
const MAX_SHOWN_CHARS = 20_000

/** Shows the body as text, or offers the bytes. Nothing of it becomes markup. */
function Answer({ reply }: { reply: EndpointReply & { ok: true } }) {
  const type = oneLine(reply.headers['content-type'] ?? 'unknown type', 80)
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
    <section aria-label="Answer" className="flex flex-1 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-3">
        <h5 className="text-sm font-medium">Answer</h5>
        <Badge tone={reply.status < 400 ? 'ok' : 'warn'}>{reply.status}</Badge>
        {reply.bytes.length > 0 && (
          <Button size="sm" className="ml-auto" onClick={download}>
            Download
          </Button>
        )}
      </div>
      {reply.bytes.length === 0 ? (
        <p className="text-sm text-muted">The body is empty.</p>
      ) : text === undefined ? (
        <p className="text-sm text-muted">
          {reply.bytes.length} bytes of {type}
        </p>
      ) : (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
          tabIndex={0}
          className="max-h-96 min-h-40 flex-1 basis-0 overflow-auto rounded-lg border border-line bg-sunken p-4 font-mono text-xs leading-5 break-words whitespace-pre-wrap"
        >
          <bdi dir="ltr">{manyLines(text, MAX_SHOWN_CHARS)}</bdi>
        </pre>
      )}
      {isCut && <p className="text-xs text-muted">The rest is in the download.</p>}
      {reply.missing !== null && (
        <p className="text-xs text-warn">{oneLine(reply.missing, 600)} The rest was not read.</p>
      )}
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
