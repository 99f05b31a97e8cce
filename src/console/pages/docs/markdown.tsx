import { Fragment, type ReactNode, useEffect } from 'react'
import { quietLink, TextLink } from '../../components/button.js'
import { CodeBlock } from '../../components/code-block.js'
import { OutLink } from '../../components/untrusted-text.js'

type MarkdownBlock =
  | { kind: 'heading'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string; name: string }
  | { kind: 'list'; items: string[]; isOrdered: boolean }
  | { kind: 'table'; rows: string[][] }

/** Shows a page of our own documents: the part of Markdown that they use, below the title of the page. */
export function Markdown({ text }: { text: string }) {
  // The text comes after its address, so the browser has not found the fragment.
  useEffect(() => {
    const frame = requestAnimationFrame(() =>
      document.getElementById(location.hash.slice(1))?.scrollIntoView(),
    )
    return () => cancelAnimationFrame(frame)
  }, [])
  return (
    <div className="space-y-4 text-pretty text-muted [&_[id]]:scroll-mt-20 [&_h2]:mt-8 [&_strong]:font-medium [&_strong]:text-ink">
      {blocksOf(text).map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block is its place
        <Shown key={index} block={block} />
      ))}
    </div>
  )
}

/** Returns the headings of a page, each with its fragment. */
export function contentsOf(text: string): { name: string; href: string }[] {
  return [...text.matchAll(/^## (.*)$/gm)].map(([, name = '']) => ({
    name,
    href: `#${slugOf(name)}`,
  }))
}

const slugOf = (heading: string) => heading.toLowerCase().replace(/[^a-z0-9]+/g, '-')

/** Reads the blocks after the title. Code is named after its section and file. */
function blocksOf(text: string): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = []
  let section = ''
  const pieces = text
    .replace(/^# .*\n/, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .split(/^(```\w*\n[\s\S]*?^```)$/m)
  for (const piece of pieces) {
    const code = /^```\w*\n([\s\S]*?)```$/.exec(piece)?.[1]
    if (code !== undefined) {
      const last = blocks.at(-1)
      const [, file] = /^`([^`]+)`:$/.exec(last?.kind === 'text' ? last.text : '') ?? []
      const name = file ?? (/^\s*\{/.test(code) ? 'configuration' : 'commands')
      blocks.push({ kind: 'code', text: code.trimEnd(), name: `${section}: ${name}` })
      continue
    }
    for (const part of piece.split(/\n{2,}/).map((it) => it.trim())) {
      const [, heading] = /^## (.*)$/.exec(part) ?? []
      if (heading !== undefined) section = heading
      if (part !== '') blocks.push(readBlock(part, heading))
    }
  }
  return blocks
}

function readBlock(part: string, heading: string | undefined): MarkdownBlock {
  if (heading !== undefined) return { kind: 'heading', text: heading }
  if (part.startsWith('| ')) {
    const [head = '', , ...rows] = part.split('\n')
    return { kind: 'table', rows: [head, ...rows].map((row) => row.split(' | ').map(cellOf)) }
  }
  const isOrdered = /^1\. /.test(part)
  if (!isOrdered && !part.startsWith('- ')) return { kind: 'text', text: part }
  const items = part.split('\n').map((line) => line.replace(/^(?:\d+\.|-) +/, ''))
  return { kind: 'list', items, isOrdered }
}

const cellOf = (cell: string) => cell.replace(/^\| | \|$/g, '')

function Shown({ block }: { block: MarkdownBlock }) {
  switch (block.kind) {
    case 'heading':
      return (
        <h2 id={slugOf(block.text)} className="text-lg font-semibold tracking-tight text-ink">
          {block.text}
        </h2>
      )
    case 'text':
      return <p>{inline(block.text)}</p>
    case 'code':
      return <CodeBlock name={block.name} code={block.text} />
    case 'list':
      return <List {...block} />
    case 'table':
      return <Table {...block} />
  }
}

function List({ items, isOrdered }: Extract<MarkdownBlock, { kind: 'list' }>) {
  const entries = items.map((item) => (
    <li key={item} className="pl-1">
      {inline(item)}
    </li>
  ))
  const style = 'space-y-3 pl-5 marker:font-medium marker:text-accent'
  return isOrdered ? (
    <ol className={`list-decimal ${style}`}>{entries}</ol>
  ) : (
    <ul className={`list-disc ${style}`}>{entries}</ul>
  )
}

/** A row takes the fragment that its first cell begins with: `<a id="name"></a>`. */
function Table({ rows: [head = [], ...rows] }: Extract<MarkdownBlock, { kind: 'table' }>) {
  const cell = 'py-2 pr-4 align-top'
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the focus
    <section tabIndex={0} aria-label={head[0]} className="overflow-x-auto text-sm">
      <table className="w-full text-left">
        <thead className="border-b border-line-strong text-ink">
          <tr>
            {head.map((name) => (
              <th key={name} scope="col" className={`${cell} font-medium`}>
                {inline(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map((cells) => (
            <tr key={cells[0]} id={/^<a id="(.+)"><\/a>/.exec(cells[0] ?? '')?.[1]}>
              {cells.map((text, column) => (
                <td key={head[column]} className={cell}>
                  {inline(text.replace(/^<a .*?<\/a>/, ''))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*|\[[^\]]+\]\([^)]+\))/

/** Shows code, bold words and links of a text. */
function inline(text: string): ReactNode {
  return text.split(INLINE).map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place
    <Fragment key={index}>{index % 2 === 0 ? piece : marked(piece)}</Fragment>
  ))
}

function marked(piece: string): ReactNode {
  if (piece.startsWith('`')) return <Code>{piece.slice(1, -1)}</Code>
  if (piece.startsWith('**')) return <strong>{inline(piece.slice(2, -2))}</strong>
  if (piece.startsWith('*')) return <em>{piece.slice(1, -1)}</em>
  const [, name = '', href = ''] = /^\[(.+)\]\((.+)\)$/.exec(piece) ?? []
  const [, quickstart] = /^(sell|buy|agent)\.md$/.exec(href) ?? []
  if (quickstart !== undefined) {
    return <TextLink href={`/quickstart?part=${quickstart}`}>{name.replace('.md', '')}</TextLink>
  }
  if (href.startsWith('#')) {
    return (
      <a href={href} className={quietLink}>
        {name}
      </a>
    )
  }
  if (href.startsWith('/')) return <TextLink href={href}>{name}</TextLink>
  if (/^https?:/.test(href)) return <OutLink href={href}>{name}</OutLink>
  // A page of the repository, which the console does not serve.
  return (
    <Code>{`docs/${href.replace(/^\.\.\//, '').replace(/^(add-arc|curl|go-live)/, 'quickstarts/$1')}`}</Code>
  )
}

function Code({ children }: { children: string }) {
  return (
    <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.85em] break-words text-ink">
      {children}
    </code>
  )
}
