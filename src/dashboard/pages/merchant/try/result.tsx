import { useQuery } from '@tanstack/react-query'
import { ArcusError } from 'arcus-client/calls'
import { useEffect, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import type { PaymentStatus } from '../../../../api/payments.js'
import { paymentPath, readPayments } from '../../../api/queries.js'
import { Badge } from '../../../components/badge.js'
import { Button, CopyButton, quietLink } from '../../../components/button.js'
import { Fact } from '../../../components/figures.js'
import { Notice } from '../../../components/notice.js'
import { Hex } from '../../../components/untrusted-text.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { manyLines, oneLine } from '../../../format/untrusted-text.js'
import type { Reply } from './call.js'
import type { SignedPayment } from './payment.js'
import type { Run, RunState } from './run.js'
import { words } from './words.js'

export function useRun(run: Run): RunState {
  return useSyncExternalStore(run.subscribe, run.get)
}

/**
 * How a payment stands by the journal of the service. A seller could say anything, so one that only the seller calls paid is
 * `claimed`, and `unasked` where the service could not be asked.
 */
export type Standing =
  | 'paid'
  | 'settling'
  | 'failed'
  | 'checking'
  | 'claimed'
  | 'unasked'
  | 'open'
  | 'expired'

const standings = {
  confirmed: 'paid',
  queued: 'settling',
  submitted: 'settling',
  failed: 'failed',
} as const

const ASK_MS = 2_000

/** Asks the service about a signed payment until it is decided or its time is over. */
export function useStanding({ signed, settlement, repliedAt = 0 }: RunState): {
  standing: Standing | undefined
  payment: PaymentStatus | undefined
} {
  const { validBefore } = signed ?? noPayment
  const path = paymentPath(signed ?? noPayment)
  const isLive = () => Date.now() / 1000 < validBefore + 5
  const query = useQuery({
    queryKey: ['signed-payment', path],
    queryFn: ({ signal }) =>
      readPayments(path, signal).catch((error) => {
        if (error instanceof ArcusError && error.status === 404) return []
        throw error
      }),
    enabled: signed !== undefined,
    retry: false,
    refetchInterval: ({ state: { data } }) => {
      // A payment that failed may still be settled by the seller's next try.
      const isPaid = data?.some(({ state }) => state === 'confirmed')
      return isPaid === true || !isLive() ? false : ASK_MS
    },
  })
  const { refetch } = query
  const isTold = settlement?.success === true
  useEffect(() => {
    // A look-up from before the answer may know less than the answer tells.
    if (isTold && repliedAt > 0) void refetch()
  }, [isTold, repliedAt, refetch])
  if (signed === undefined) return { standing: undefined, payment: undefined }
  const payment = query.data?.[0]
  const standing =
    payment !== undefined
      ? standings[payment.state]
      : isTold
        ? toldStanding(query, repliedAt)
        : isLive()
          ? 'open'
          : 'expired'
  return { standing, payment }
}

/** Returns how a payment stands that the seller calls paid and the journal has not. */
function toldStanding(
  { dataUpdatedAt, errorUpdatedAt }: { dataUpdatedAt: number; errorUpdatedAt: number },
  repliedAt: number,
): Standing {
  if (dataUpdatedAt >= repliedAt) return 'claimed'
  return errorUpdatedAt >= repliedAt ? 'unasked' : 'checking'
}

const noPayment = { network: '', payer: '', nonce: '', asset: '', validBefore: 0 }

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
        standing !== undefined && <Outcome standing={standing} signed={signed} reply={reply} />
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
}: {
  standing: Standing
  signed: SignedPayment
  reply: Reply
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
  const until = new Date(signed.validBefore * 1000).toLocaleTimeString()
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
    return (
      <Notice tone="warn" title={standing === 'claimed' ? words.claimed : words.claimedUnasked}>
        {warning}
      </Notice>
    )
  }
  return (
    <Notice tone="warn" title={reply.ok ? words.notTaken : words.unknown}>
      {reply.ok ? words.notTakenText(until) : `${oneLine(reply.message, 300)} ${words.unknownText}`}
    </Notice>
  )
}

function Money({
  state: { settlement },
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
  const { network, amount } = signed
  const transaction = payment?.transaction ?? settlement?.transaction
  const isFree = standing === 'failed' || standing === 'expired'
  return (
    <dl className="divide-y divide-line text-sm">
      <Fact name={words.cost}>
        {isFree ? words.nothingKnown : exactAmount(atomicToUsd(amount), symbol)}
      </Fact>
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
