import { useMutation, useQueryClient } from '@tanstack/react-query'
import { sendJson } from '../../api/http.js'
import type { MerchantEndpoint, MerchantView, ProbeAnswer } from '../../api/types.js'
import { MethodChip } from '../../components/badge.js'
import { Button } from '../../components/button.js'
import { Card, Section } from '../../components/card.js'
import { Icon } from '../../components/icons.js'
import { Notice } from '../../components/notice.js'
import { StrangerText, UrlText } from '../../components/stranger-text.js'
import { PriceComparison } from '../../merchant/prices.js'
import { ProbeReport } from '../../merchant/probe-report.js'

/** How each endpoint was found when it was last looked at, and a look at once. */
export function Health({ merchant }: { merchant: MerchantView }) {
  return (
    <Section
      title="Endpoints"
      note="Arcus looks at each every six hours, sooner after a failure. One that fails three times leaves the default order of the directory, never the directory."
    >
      <Card>
        <ul className="divide-y divide-line">
          {merchant.endpoints.map((endpoint) => (
            <Row key={endpoint.state.id} merchant={merchant} endpoint={endpoint} />
          ))}
        </ul>
      </Card>
    </Section>
  )
}

function Row({ merchant, endpoint }: { merchant: MerchantView; endpoint: MerchantEndpoint }) {
  const { title, method, url, state } = endpoint
  const client = useQueryClient()
  const look = useMutation({
    mutationFn: () =>
      sendJson<ProbeAnswer>('POST', `/api/merchants/${encodeURIComponent(merchant.id)}/probe`, {
        endpointId: state.id,
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['merchant', merchant.id] }),
  })
  const answer = look.data?.endpoints[0]
  return (
    <li className="space-y-3 px-4 py-5 sm:px-5">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h3 className="font-medium">
            <StrangerText text={title} />
          </h3>
          <p className="mt-1 flex min-w-0 items-center gap-2">
            <MethodChip method={method} />
            <span className="min-w-0 truncate">
              <UrlText url={url} />
            </span>
          </p>
        </div>
        <Button size="sm" isBusy={look.isPending} onClick={() => look.mutate()}>
          <Icon name="again" size={13} />
          Probe now
        </Button>
      </div>
      <PriceComparison endpoint={endpoint} merchant={merchant} />
      <div aria-live="polite">
        <ProbeReport {...(answer ?? state)} />
        {state.failures > 1 && answer === undefined && (
          <p className="mt-1 text-xs text-faint">{state.failures} failed looks in a row</p>
        )}
      </div>
      {look.error !== null && (
        <Notice tone="bad" title="It could not be looked at now">
          {look.error.message}
        </Notice>
      )}
    </li>
  )
}
