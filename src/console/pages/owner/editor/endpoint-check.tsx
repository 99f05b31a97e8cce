import type { MerchantEndpoint, MerchantView, ProbeAnswer } from '@arcus/protocol/answers/listings'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { sendJson } from '../../../api/http.js'
import { merchantQuery, settingsQuery } from '../../../api/queries.js'
import { HealthDot } from '../../../components/badge.js'
import { Failure, Note } from '../../../components/card.js'
import { AskedPrice } from '../../../components/figures.js'
import { Moment } from '../../../components/moment.js'
import { UntrustedText } from '../../../components/untrusted-text.js'
import { verdictName, warningLevel } from '../../../format/verdicts.js'
import { type EndpointValues, fillEndpoint, listedTokens, tokenOf } from './form.js'
import { isLive, readQuote } from './quote.js'

/** Checks an API again: the directory's own check for one that is listed, and for another one a call that fills the form. */
export function useCheck(
  values: EndpointValues,
  merchant: MerchantView | undefined,
  listed: MerchantEndpoint | undefined,
  onFilled: (values: EndpointValues) => void,
) {
  const client = useQueryClient()
  return useMutation({
    async mutationFn() {
      if (merchant === undefined || listed === undefined) {
        const quote = await readQuote(values.url, values)
        if (isLive(quote)) onFilled(fillEndpoint(values, quote))
        return quote
      }
      const path = `/api/merchants/${encodeURIComponent(merchant.id)}/probe`
      const { endpoints } = await sendJson<ProbeAnswer>('POST', path, {
        endpointId: listed.state.id,
      })
      await client.invalidateQueries({ queryKey: merchantQuery(merchant.id).queryKey })
      const [{ state, probe } = {}] = endpoints
      if (state !== 'probed') throw new Error('It was checked a moment ago. Try again in a minute.')
      return probe
    },
  })
}

/** Shows the health of a listed API, its price and when it was paid last. A new one has a price alone. */
export function Standing({
  values,
  listed,
}: {
  values: EndpointValues
  listed: MerchantEndpoint | undefined
}) {
  const { symbol } = tokenOf(values, listedTokens(useQuery(settingsQuery).data))
  if (listed === undefined) {
    return (
      <span className="text-sm tabular">
        {values.found === null && values.price && `${values.price} ${symbol}`}
      </span>
    )
  }
  const { state } = listed
  return (
    <span className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
      <HealthDot api={{ ...state, price: listed.price }} />
      <span className="font-medium">
        <AskedPrice {...listed} symbol={state.symbol} livePrice={state.livePrice} />
      </span>
      <span className="text-xs text-faint">
        {state.usage == null ? (
          'not paid yet'
        ) : (
          <>
            paid <Moment at={state.usage.lastPaid * 1_000} />
          </>
        )}
      </span>
    </span>
  )
}

/** Says how a check ended, or how the last check of a listed API did if that failed. */
export function CheckResult({
  check,
  listed,
}: {
  check: ReturnType<typeof useCheck>
  listed: MerchantEndpoint | undefined
}) {
  if (check.isPending) return null
  const last = check.data ?? listed?.state.probe
  return (
    <>
      <Failure title="It could not be checked" of={check.error} />
      {last != null && last.verdict !== 'live' && (
        <Note level={last.verdict === 'not_called' ? 'info' : 'bad'}>
          {verdictName(last.verdict)}. <UntrustedText text={last.message} max={600} /> Checked{' '}
          <Moment at={last.checkedAt * 1_000} />.
        </Note>
      )}
      {check.data?.verdict === 'live' && !check.data.warnings.some(isProblem) && (
        <Note level="ok">It works.</Note>
      )}
    </>
  )
}

const isProblem = (code: string) => warningLevel(code) === 'bad'
