import { CodeBlock } from '../../components/code-block.js'
import { Sentence } from '../../components/sentence.js'
import { OutLink } from '../../components/untrusted-text.js'
import { type Facts, Part } from './guide.js'
import { words as texts } from './words.js'

const words = texts.money
const FAUCET = 'faucet.circle.com'

/** Says where money to try it with comes from. */
export function TestMoney({ settings, network, isTestnet }: Omit<Facts, 'facilitator'>) {
  if (settings.devnet) {
    return (
      <Part title={words.play}>
        <p>
          <Sentence
            text={words.playText(network.asset.symbol)}
            parts={{ command: <code>npm run dev</code> }}
          />
        </p>
        <CodeBlock name={words.commandName} code="npm run pay" />
      </Part>
    )
  }
  return (
    <Part title={words.free}>
      <p>
        <Sentence
          text={isTestnet ? words.onTestnet : words.onMainnet}
          parts={{ faucet: <OutLink href={`https://${FAUCET}`}>{FAUCET}</OutLink> }}
        />
      </p>
    </Part>
  )
}
