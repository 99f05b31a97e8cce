import { TextLink } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { Addresses, Guide, Part } from './guide.js'
import { buyerSnippet, mcpConfigSnippet } from './snippets.js'
import { TestMoney } from './test-money.js'
import { words as texts } from './words.js'

const words = texts.agents

export function ForAgents() {
  return (
    <Guide title={words.title} lead={words.lead}>
      {({ settings, network, isTestnet, facilitator }) => (
        <>
          <Part title={words.find}>
            <Addresses
              rows={[
                [words.mcp, `${facilitator}/mcp`],
                [words.resources, `${facilitator}/discovery/resources`],
                [words.search, `${facilitator}/discovery/search?query=weather`],
                [words.changes, `${facilitator}/discovery/changes`],
              ]}
            />
            <p>{words.mcpText}</p>
            <CodeBlock name={words.mcpName} code={mcpConfigSnippet(facilitator)} />
          </Part>
          <Part title={words.pay}>
            <p>{words.payText}</p>
            <CodeBlock name={words.buyerName} code={buyerSnippet(network)} />
          </Part>
          <Part title={words.trust}>
            <p>{words.trustText}</p>
            <p>{words.evidence}</p>
            <p>
              <TextLink href="/directory">{words.browse}</TextLink>
            </p>
          </Part>
          <TestMoney {...{ settings, network, isTestnet }} />
        </>
      )}
    </Guide>
  )
}
