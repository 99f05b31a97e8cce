import { useMutation } from '@tanstack/react-query'
import { Button } from '../components/button.js'
import { Icon } from '../components/icons.js'
import { Notice } from '../components/notice.js'
import { StrangerText } from '../components/stranger-text.js'
import { verdictName, warningText } from '../format/verdicts.js'
import { type EndpointDraft, fillEndpoint } from './draft.js'
import { lookUpQuote } from './look-up-quote.js'

/** Asks the live 402 again and takes over what it says. */
export function Recheck({
  endpoint,
  onChange,
}: {
  endpoint: EndpointDraft
  onChange: (endpoint: EndpointDraft) => void
}) {
  const { url, method, example } = endpoint
  const look = useMutation({
    mutationFn: () => lookUpQuote(url, { method, example }),
    onSuccess: ({ listing }) => {
      if (listing !== null) onChange(fillEndpoint(endpoint, listing))
    },
  })
  const found = look.data
  return (
    <div className="space-y-2">
      <Button size="sm" isBusy={look.isPending} disabled={url === ''} onClick={() => look.mutate()}>
        <Icon name="again" size={13} />
        Read the live 402 again
      </Button>
      {look.error !== null && <Notice tone="bad">{look.error.message}</Notice>}
      {found !== undefined && !look.isPending && (
        <Notice
          tone={found.listing === null ? 'warn' : 'ok'}
          title={
            found.listing === null
              ? verdictName(found.verdict)
              : 'Live: price and parameters are as quoted'
          }
        >
          {found.listing === null && <StrangerText text={found.message} max={600} />}
          {found.warnings.map((code) => (
            <p key={code}>{warningText(code)}</p>
          ))}
        </Notice>
      )}
    </div>
  )
}
