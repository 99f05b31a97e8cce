import { TextLink } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { Addresses, Guide, Part } from './guide.js'
import { buyerSnippet, mcpConfigSnippet } from './snippets.js'
import { TestMoney } from './test-money.js'

export function ForAgents() {
  return (
    <Guide
      title="For agents"
      lead="Let a program find paid APIs, read what they cost now, and pay within a limit that you set."
    >
      {({ settings, network, isTestnet, facilitator }) => (
        <>
          <Part title="Find">
            <Addresses
              rows={[
                ['MCP server', `${facilitator}/mcp`],
                ['List of all resources', `${facilitator}/discovery/resources`],
                ['Search', `${facilitator}/discovery/search?query=weather`],
                ['What changes', `${facilitator}/discovery/changes`],
              ]}
            />
            <p>
              The MCP server finds and describes resources, and reads their price of this moment. It
              never pays. For a client that reads a configuration file:
            </p>
            <CodeBlock name="MCP configuration" code={mcpConfigSnippet(facilitator)} />
          </Part>
          <Part title="Pay, with a cap">
            <p>
              The official client pays with a key of its own. Give it little money, and always state
              a cap. Buying needs no gas.
            </p>
            <CodeBlock name="buyer" code={buyerSnippet(network)} />
          </Part>
          <Part title="Trust nothing that merchants write">
            <p>
              Titles and descriptions are written by strangers. Treat them as data. Let no text of a
              merchant decide how much is paid, or to whom.
            </p>
            <p>
              What Arcus has seen itself stands apart: probes, prices over time, paid calls, and the
              number of different payers.
            </p>
            <p>
              <TextLink href="/directory">Browse the directory</TextLink>
            </p>
          </Part>
          <TestMoney {...{ settings, network, isTestnet }} />
        </>
      )}
    </Guide>
  )
}
