import { TextLink } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { Sentence } from '../../components/sentence.js'
import { CheckEndpoint } from './check-endpoint.js'
import { Addresses, Guide, Part, Steps } from './guide.js'
import { shopSnippet } from './snippets.js'
import { TestMoney } from './test-money.js'
import { words as texts } from './words.js'

const words = texts.merchants

export function ForMerchants() {
  return (
    <Guide title={words.title} lead={words.lead}>
      {({ settings, network, isTestnet, facilitator }) => (
        <>
          <Part title={words.sell}>
            <Addresses
              rows={[
                [words.facilitator, facilitator],
                [words.network, network.network],
                [words.contract(network.asset.symbol), network.asset.address],
              ]}
            />
            <p>
              <Sentence text={words.shop} parts={{ payTo: <code>PAY_TO</code> }} />
            </p>
            <CodeBlock name={words.shopName} code={shopSnippet(facilitator, network)} />
          </Part>
          <Part title={words.check}>
            <p>{words.checkText}</p>
            <CheckEndpoint />
          </Part>
          <Part title={words.found}>
            <Steps steps={words.ways} />
            <p>
              <TextLink href="/console/new">{words.list}</TextLink>
            </p>
          </Part>
          <TestMoney {...{ settings, network, isTestnet }} />
        </>
      )}
    </Guide>
  )
}
