import { TextLink } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { CheckEndpoint } from './check-endpoint.js'
import { Addresses, Guide, Part, Steps } from './guide.js'
import { shopSnippet } from './snippets.js'
import { TestMoney } from './test-money.js'

export function ForMerchants() {
  return (
    <Guide
      title="For merchants"
      lead="Put a price on a route of your API. The money arrives at your address with each call."
    >
      {({ settings, network, isTestnet, facilitator }) => (
        <>
          <Part title="Sell in five minutes">
            <Addresses
              rows={[
                ['Facilitator', facilitator],
                ['Network', network.network],
                [`${network.asset.symbol} contract`, network.asset.address],
              ]}
            />
            <p>
              This is a whole shop. It needs no key and no account, only the address where you want
              to be paid, in <code>PAY_TO</code>.
            </p>
            <CodeBlock name="shop" code={shopSnippet(facilitator, network)} />
          </Part>
          <Part title="Is my 402 right?">
            <p>
              Arcus calls your endpoint once, without payment, and says what a buyer sees. It needs
              no wallet.
            </p>
            <CheckEndpoint />
          </Part>
          <Part title="Be found">
            <Steps
              steps={[
                [
                  'By itself',
                  'An API whose 402 carries the discovery extension, as the shop above does, is listed after its first payment.',
                ],
                [
                  'With a name',
                  'Sign a listing with your wallet. It costs nothing, and it adds a name, texts, tags and badges.',
                ],
                [
                  'With evidence',
                  'The directory checks listed endpoints all day. It shows their uptime, their price history and how many payers they have.',
                ],
              ]}
            />
            <p>
              <TextLink href="/console/new">List your API</TextLink>
            </p>
          </Part>
          <TestMoney {...{ settings, network, isTestnet }} />
        </>
      )}
    </Guide>
  )
}
