import { useQuery } from '@tanstack/react-query'
import { settingsQuery, toolsQuery } from '../api/queries.js'
import type { MerchantEndpoint } from '../api/types.js'
import { CodeBlock } from '../components/code-block.js'
import { Loaded } from '../components/loaded.js'
import { Skeleton } from '../components/skeleton.js'
import { Tabs } from '../components/tabs.js'
import { curlSnippet, fetchSnippet, toolFor } from './snippets.js'

/** How to call an endpoint from one's own machine: Arcus shows the way and never makes the call. */
export function TryIt({
  endpoint,
  merchantId,
}: {
  endpoint: MerchantEndpoint
  merchantId: string
}) {
  const { data: settings } = useQuery(settingsQuery)
  const network = settings?.networks.find(({ listed }) => listed)
  return (
    <Tabs
      label="Ways to call it"
      tabs={[
        {
          key: 'curl',
          name: 'See the 402',
          content: () => <CodeBlock name="curl command" code={curlSnippet(endpoint)} />,
        },
        {
          key: 'fetch',
          name: 'Pay with @x402/fetch',
          content: () =>
            network === undefined ? (
              <Skeleton className="h-40" />
            ) : (
              <CodeBlock name="TypeScript client" code={fetchSnippet(endpoint, network)} />
            ),
        },
        {
          key: 'tool',
          name: 'Function tool',
          content: () => <Tool endpoint={endpoint} merchantId={merchantId} />,
        },
      ]}
    />
  )
}

function Tool({ endpoint, merchantId }: { endpoint: MerchantEndpoint; merchantId: string }) {
  const query = useQuery(toolsQuery(merchantId))
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-40" />}>
      {(answer) => (
        <CodeBlock
          name="function tool"
          code={JSON.stringify(toolFor(answer, endpoint) ?? null, null, 2)}
        />
      )}
    </Loaded>
  )
}
