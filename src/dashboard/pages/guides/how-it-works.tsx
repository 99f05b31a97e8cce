import { TextLink } from '../../components/button.js'
import { Guide, Part, Steps } from './guide.js'

export function HowItWorks() {
  return (
    <Guide
      title="How it works"
      lead="An API names its price. A program signs a payment and gets its answer. No account, no card, no invoice."
    >
      {({ network }) => (
        <>
          <Part title="One call, one payment">
            <Steps
              steps={[
                [
                  'A program calls an API',
                  'The API answers with the status 402, Payment Required, and says what a call costs and whom to pay.',
                ],
                [
                  'The program signs',
                  `It signs permission for exactly that amount of ${network.asset.symbol}. The signature moves no money yet, and it costs no gas.`,
                ],
                [
                  'The program calls again, with the signature',
                  'The API asks Arcus whether the payment is good. Then it does the work.',
                ],
                [
                  'Arcus puts the payment on the chain',
                  `The money goes straight from the buyer to the merchant on ${network.name}, mostly within two seconds. Arcus pays the gas.`,
                ],
              ]}
            />
          </Part>
          <Part title="What can go wrong">
            <p>
              <strong>A request that fails is not charged.</strong> A payment is checked before the
              work and settled after it.
            </p>
            <p>
              <strong>Nobody pays twice.</strong> Each signature is good for one transfer. The chain
              refuses it a second time.
            </p>
            <p>
              <strong>Nobody pays more than they signed.</strong> A signature names the amount, the
              recipient, and the moment it expires.
            </p>
            <p>
              <strong>Arcus never holds money.</strong> It can neither change a payment nor send it
              elsewhere. It is open source, and anybody can run it.
            </p>
            <p>
              A payment in doubt can always be <TextLink href="/payments">looked up</TextLink>: by
              its transaction, or by the payer and the nonce of the signature.
            </p>
          </Part>
          <Part title="Words you will meet">
            <dl className="space-y-3">
              {[
                ['x402', 'The open standard for payments over HTTP that all of this follows.'],
                [
                  'Facilitator',
                  'The service that checks payments and puts them on the chain. Arcus is one.',
                ],
                [
                  network.asset.symbol,
                  'A stablecoin: one is worth one dollar. It also pays for gas on Arc.',
                ],
                ['Arc', 'The chain on which the payments settle.'],
              ].map(([word, meaning]) => (
                <div key={word}>
                  <dt className="font-medium text-ink">{word}</dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </Part>
          <Part title="Go on">
            <p>
              <TextLink href="/directory">Browse paid APIs</TextLink>, or{' '}
              <TextLink href="/for/merchants">sell your own</TextLink>, or{' '}
              <TextLink href="/for/agents">let an agent buy</TextLink>.
            </p>
          </Part>
        </>
      )}
    </Guide>
  )
}
