import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useRef } from 'react'
import { paymentsQuery } from '../../../api/payment-queries.js'
import { CopyButton, IconButton, TextLink } from '../../../components/button.js'
import { Fact } from '../../../components/facts.js'
import { Moment } from '../../../components/moment.js'
import { Hex, UntrustedText } from '../../../components/untrusted-text.js'
import { adviceFor } from '../../../format/advice.js'
import { paymentStates } from '../../../format/payment-states.js'
import { Buyer, GivenBack, Paid, PaymentState, Seller } from './payment-cells.js'
import { type PaymentRow, pageOf } from './payment-row.js'

/** Shows a payment beside its list. Escape closes it, and the arrows go up and down the list. */
export function PaymentPanel({
  row,
  onClose,
  onMove,
}: {
  row: PaymentRow
  onClose: () => void
  /** Goes to the row before (-1) or after (1). */
  onMove: (by: -1 | 1) => void
}) {
  const title = useId()
  const panel = useRef<HTMLElement>(null)
  const keys = useRef({ onClose, onMove })
  keys.current = { onClose, onMove }
  useEffect(() => {
    const before = document.activeElement
    panel.current?.focus({ preventScroll: true })
    const press = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).closest('input, select, textarea, dialog') !== null
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === 'Escape') keys.current.onClose()
      else if (event.key === 'ArrowUp') keys.current.onMove(-1)
      else if (event.key === 'ArrowDown') keys.current.onMove(1)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => {
      removeEventListener('keydown', press)
      if (before instanceof HTMLElement) before.focus({ preventScroll: true })
    }
  }, [])
  const { meaning } = paymentStates[row.state]
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      aria-labelledby={title}
      className="arriving fixed inset-y-0 right-0 z-30 w-[min(28rem,100vw)] overflow-y-auto border-l border-line bg-raised shadow-card outline-hidden"
    >
      <div className="flex items-start justify-between gap-4 border-b border-line px-5 py-4">
        <div>
          <h2 id={title} className="text-2xl font-semibold tracking-tight">
            <Paid {...row} />
          </h2>
          <div className="mt-1.5">
            <PaymentState {...row} />
          </div>
        </div>
        <div className="flex">
          <IconButton label="Payment before" icon="above" onClick={() => onMove(-1)} />
          <IconButton label="Next payment" icon="more" onClick={() => onMove(1)} />
          <IconButton label="Close" icon="cross" iconSize={14} onClick={onClose} />
        </div>
      </div>
      {row.reason === null ? (
        <p className="border-b border-line px-5 py-3 text-sm text-muted">
          {row.refunded === null ? meaning : <GivenBack {...row} refunded={row.refunded} />}
        </p>
      ) : (
        <div className="space-y-1 border-b border-line px-5 py-3 text-sm">
          <p className="font-medium">{row.why}.</p>
          <p className="text-muted">{meaning}</p>
          <p>{adviceFor(row.reason)}</p>
          <p className="font-mono text-2xs break-all text-faint">{row.reason}</p>
        </div>
      )}
      <PanelFacts row={row} />
      <PageLink row={row} />
    </aside>
  )
}

function PanelFacts({ row }: { row: PaymentRow }) {
  const { network, merchant, transaction, api, payer, payTo, nonce, state } = row
  const isBack = state === 'refunded'
  return (
    <dl className="divide-y divide-line px-5 text-sm">
      <Fact name="Time">
        <Moment at={row.at} isWhole />
      </Fact>
      {api !== undefined && (
        <Fact name="API">
          {api === null ? 'None is known' : <UntrustedText text={api.name} max={60} />}
          {api !== null && api.whole !== api.name && (
            <p className="font-mono text-xs break-all text-muted">
              <UntrustedText text={api.whole} max={256} />
            </p>
          )}
        </Fact>
      )}
      <Fact name="Buyer">
        <Buyer address={isBack ? payTo : payer} />
      </Fact>
      <Fact name="Seller">
        <Seller merchant={merchant} address={isBack ? payer : payTo} />
      </Fact>
      <Fact name="Transaction">
        {transaction === null ? 'none' : <Hex hex={transaction} kind="tx" network={network} />}
      </Fact>
      {nonce !== null && (
        <Fact name="Nonce">
          <span className="font-mono text-xs break-all">{nonce}</span>
          <CopyButton text={nonce} name="nonce" />
        </Fact>
      )}
      <Fact name="Network">
        <span className="font-mono text-xs">
          <UntrustedText text={network} max={40} />
        </span>
      </Fact>
    </dl>
  )
}

/** Leads to the page of a payment that was accepted. A refused one has none. */
function PageLink({ row }: { row: PaymentRow }) {
  const page = pageOf(row)
  const isKept = page !== undefined && row.state !== 'refused' && row.state !== 'invalid'
  const { data } = useQuery({ ...paymentsQuery(page ?? ''), enabled: isKept })
  if (page === undefined || data === undefined) return null
  return (
    <div className="border-t border-line px-5 py-3 text-sm">
      <TextLink href={page}>Timeline, receipt and proof</TextLink>
    </div>
  )
}
