import { TextLink } from '../../components/button.js'
import { Sentence } from '../../components/sentence.js'
import { Guide, Part, Points, Steps } from './guide.js'
import { words as texts } from './words.js'

const words = texts.how

export function HowItWorks() {
  return (
    <Guide title={words.title} lead={words.lead}>
      {({ network, settings }) => (
        <>
          <Part title={words.call}>
            <Steps steps={words.steps(network.asset.symbol, network.name)} />
          </Part>
          <Part title={words.risks}>
            <Points points={words.riskPoints} />
            <p>
              <Sentence
                text={words.doubt}
                parts={{ lookUp: <TextLink href="/payments">{words.lookUp}</TextLink> }}
              />
            </p>
          </Part>
          <Part title={words.glossary}>
            <dl className="space-y-3">
              {words.terms(network.asset.symbol).map(([word, meaning]) => (
                <div key={word}>
                  <dt className="font-medium text-ink">{word}</dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </Part>
          <Part title={words.next}>
            {settings.tryIt && (
              <p>
                <Sentence
                  text={words.tryText(settings.devnet)}
                  parts={{ directory: <TextLink href="/directory">{words.directory}</TextLink> }}
                />
              </p>
            )}
            <p>
              <Sentence
                text={words.nextText}
                parts={{
                  browse: <TextLink href="/directory">{words.browse}</TextLink>,
                  sell: <TextLink href="/for/merchants">{words.sell}</TextLink>,
                  agents: <TextLink href="/for/agents">{words.agents}</TextLink>,
                }}
              />
            </p>
          </Part>
        </>
      )}
    </Guide>
  )
}
