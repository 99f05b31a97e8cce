import { TextLink } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { Sentence } from '../../components/sentence.js'
import { Guide, Part, Points } from './guide.js'
import { operatorSnippet } from './snippets.js'
import { words as texts } from './words.js'

const words = texts.operators

export function ForOperators() {
  return (
    <Guide title={words.title} lead={words.lead}>
      {({ isTestnet }) => (
        <>
          <Part title={words.start}>
            <p>
              <Sentence text={words.needs} parts={{ file: <code>relayer.keys</code> }} />
            </p>
            <CodeBlock name={words.commandsName} code={operatorSnippet(isTestnet)} />
            <p>
              <Sentence text={words.doctor} parts={{ command: <code>npm run doctor</code> }} />
            </p>
          </Part>
          <Part title={words.cost}>
            <p>{words.costText}</p>
          </Part>
          <Part title={words.duties}>
            <Points points={words.dutyPoints} />
            <p>
              <Sentence
                text={words.replicas}
                parts={{ status: <TextLink href="/status">{words.status}</TextLink> }}
              />
            </p>
          </Part>
        </>
      )}
    </Guide>
  )
}
