import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { readSources, root } from './source-files.js'

const sources = readSources('src/dashboard')
/** Everything but the catalogs, and the code that people copy. */
const screens = sources.filter(
  ({ path }) => !/\/(?:words|snippets|format\/(?:failures|verdicts))\.ts$/.test(path),
)

/** Attributes that people read or hear. */
const TEXT_ATTRIBUTES = new Set([
  'title',
  'label',
  'aria-label',
  'aria-valuetext',
  'aria-description',
  'placeholder',
  'alt',
  'hint',
  'note',
  'error',
  'lead',
  'legend',
  'text',
  'why',
])

/** An attribute `name` of these is the name of a thing in the code; of any other component it is a text. */
const NAMED_IN_CODE = /^(?:Icon|TextField|[a-z].*)$/

/** Literals that begin like a sentence and are none: names of keys, of errors, of typed data and of parts of the browser. */
const CODE =
  /^(?:Arrow(?:Up|Down|Left|Right)|Home|End|Enter|Escape|Permit2?|Witness|[A-Z][a-z]+(?:[A-Z][a-z]+)+)$/

/** Several words of letters only. Lists of classes and other code nearly always have a hyphen, a colon or a digit. */
const PROSE = /^\p{L}+[,;:]?( [\p{L}’'…]+[,;:.?!]*)+$/u

/** Returns every text of a screen that stands in its code, with its line. */
function textsIn(path: string, code: string): string[] {
  const file = ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const report = (node: ts.Node, text: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
    found.push(`${path}:${line + 1} ${text.replace(/\s+/g, ' ').trim()}`)
  }
  const visit = (node: ts.Node): void => {
    const text = textOf(node)
    if (text !== undefined && isShown(node, text)) report(node, text)
    if (!isCodeElement(node)) ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** Returns the words of a literal, a template without its values, or a text between tags. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isJsxText(node) || ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
    return node.text
  }
  if (!ts.isTemplateExpression(node)) return undefined
  return [node.head, ...node.templateSpans.map(({ literal }) => literal)]
    .map((part) => part.text)
    .join('…')
}

function isShown(node: ts.Node, text: string): boolean {
  if (!/\p{L}/u.test(text)) return false
  if (ts.isJsxText(node)) return true
  const place = placeOf(node)
  if (place === 'code') return false
  return place === 'text' || PROSE.test(text) || (/^[A-Z][a-z]/.test(text) && !CODE.test(text))
}

/** Tells where the value of an expression goes: to people, to the code, or somewhere that its words must tell. */
function placeOf(node: ts.Node): 'text' | 'code' | undefined {
  const { parent } = node
  if (ts.isJsxExpression(parent) && !ts.isJsxAttribute(parent.parent)) return 'text'
  if (ts.isJsxAttribute(parent)) return attributePlace(parent)
  if (ts.isJsxExpression(parent)) return attributePlace(parent.parent as ts.JsxAttribute)
  if (ts.isImportDeclaration(parent) || ts.isLiteralTypeNode(parent)) return 'code'
  if (ts.isCallExpression(parent)) return callPlace(parent)
  // The value of a choice or of a default is the value of the whole; what is compared is not shown.
  if (ts.isConditionalExpression(parent)) {
    return node === parent.condition ? 'code' : placeOf(parent)
  }
  if (ts.isParenthesizedExpression(parent)) return placeOf(parent)
  if (ts.isBinaryExpression(parent)) return binaryPlace(parent)
  return undefined
}

function callPlace({ expression }: ts.CallExpression): 'text' | 'code' | undefined {
  const called = expression.getText()
  if (/^(?:useTitle|say)$/.test(called)) return 'text'
  return /(?:^import|\.(?:matches|closest|querySelector(?:All)?))$/.test(called)
    ? 'code'
    : undefined
}

function binaryPlace(binary: ts.BinaryExpression): 'text' | 'code' | undefined {
  const { kind } = binary.operatorToken
  const passesOn = [
    ts.SyntaxKind.PlusToken,
    ts.SyntaxKind.BarBarToken,
    ts.SyntaxKind.AmpersandAmpersandToken,
    ts.SyntaxKind.QuestionQuestionToken,
  ]
  return passesOn.includes(kind) ? placeOf(binary) : 'code'
}

function attributePlace(attribute: ts.JsxAttribute): 'text' | 'code' {
  const name = attribute.name.getText()
  if (TEXT_ATTRIBUTES.has(name)) return 'text'
  const { tagName } = attribute.parent.parent
  return name === 'name' && !NAMED_IN_CODE.test(tagName.getText()) ? 'text' : 'code'
}

/** Code is the same in every language. */
function isCodeElement(node: ts.Node): boolean {
  return ts.isJsxElement(node) && node.openingElement.tagName.getText() === 'code'
}

describe('the texts of the console', () => {
  it('stand in the catalogs, and in no screen', () => {
    const texts = screens.flatMap(({ path, text }) => textsIn(path, text))
    expect(texts).toEqual([])
  })

  it('are in one catalog a folder, each beside a file that reads it', () => {
    const catalogs = sources.filter(({ path }) => /\/words\.ts$/.test(path))
    expect(catalogs.length).toBeGreaterThan(3)
    const unread = catalogs.filter(({ path }) => {
      const target = path.replace(/\.ts$/, '.js')
      const folder = posix.dirname(path)
      return !sources.some(
        (source) =>
          source.path.startsWith(folder) && source.imports.some((it) => it.target === target),
      )
    })
    expect(unread.map(({ path }) => path)).toEqual([])
  })

  it.each([
    ['<p>Pay now</p>', true],
    ["<p>{isOpen ? 'open' : 'closed'}</p>", true],
    [`<p>{count > 1 && \`of $\{count}\`}</p>`, true],
    ['<p><strong>Bold</strong></p>', true],
    ['<input aria-label="search" />', true],
    [`<input placeholder={\`a $\{thing}\`} />`, true],
    ["<Fact name={isIn ? 'from' : 'to'} />", true],
    ["say('done')", true],
    ["[['payments', 'Payments']]", true],
    ['<code>PAY_TO</code>', false],
    ['<p className="text-sm">{words.pay} · {value}</p>', false],
    ['<Icon name="cross" />', false],
    ['<input name="network" type="radio" />', false],
    ["<p>{state === 'open' && words.open}</p>", false],
    ["const all = count > 1 ? 'all of them' : 'it'", true],
    ["const name = isOpen ? 'has no problems' : ''", true],
    ["event.key === 'ArrowLeft'", false],
  ])('are found by the test: %s is one: %s', (code, isText) => {
    expect(textsIn('screen.tsx', code).length > 0).toBe(isText)
  })
})

/** Words that give a translated text away. Plain English has another one for each. */
const TRANSLATED =
  /\b(?:in vain|at present|(?:some|no)thing else than|hears of|look it up at|borne|bears? its|tells whether|(?:is|are|was|were|be) told)\b/i

it('no text outside the console and the stores sounds translated', () => {
  const pages = ['.', 'docs', 'docs/quickstarts', 'packages/client', 'packages/merchant']
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => posix.join(folder, name)))
    .filter((path) => /\.md$|^\.env\.example$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  const code = readSources().filter(({ path }) => !/^src\/(?:dashboard|store)\//.test(path))
  const lines = [...pages, ...code].flatMap(({ path, text }) =>
    text.split('\n').map((line, i) => `${path}:${i + 1} ${line.trim()}`),
  )
  expect(lines.length).toBeGreaterThan(10_000)
  expect(lines.filter((line) => TRANSLATED.test(line))).toEqual([])
})
