/** Makes small faults out of the syntax of a function: each one changes one thing that it decides or does. */
import ts from 'typescript'

export interface Mutant {
  /** From the root of the project. */
  file: string
  /** The innermost function around it that has a name, or the constant. */
  place: string
  /** Which expression, and what becomes of it. It names the mutant together with file and place. */
  change: string
  start: number
  end: number
  text: string
}

/** A part of the sources, and a text that takes its place. */
type Change = readonly [part: { getStart(): number; getEnd(): number }, text: string]

const { SyntaxKind } = ts
const REVERSED = new Map<ts.SyntaxKind, string>([
  [SyntaxKind.LessThanToken, '<='],
  [SyntaxKind.LessThanEqualsToken, '<'],
  [SyntaxKind.GreaterThanToken, '>='],
  [SyntaxKind.GreaterThanEqualsToken, '>'],
  [SyntaxKind.PlusToken, '-'],
  [SyntaxKind.MinusToken, '+'],
])
const OTHER_METHOD = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['max', 'min'],
  ['min', 'max'],
])
/** A call of these without effect answers what it was called on. */
const PASSING = new Set(['filter', 'sort'])
/** Times are never equal to the millisecond, so that only the bounds of amounts are moved by one. */
const AMOUNT = /amount|value|balance|allowance|limit|burnt|spent|required|permitted|needed|gain/i
/** What these write is for people. */
const SILENT = /^(?:options\.|params\.)?(?:log|logger|metrics|print)\b/

/** Returns the mutants of these functions and constants, in the order of the text; of all of the file without names. */
export function mutantsOf(file: string, code: string, names: readonly string[] = []): Mutant[] {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true)
  const wanted = new Set(names)
  const seen = new Set<string>()
  const found: Mutant[] = []
  const counts = new Map<string, number>()
  const add = (place: string, [part, text]: Change) => {
    const [start, end] = [part.getStart(), part.getEnd()]
    const change = `${code.slice(start, end)} -> ${text || 'nothing'}`.replace(/\s+/g, ' ')
    const count = (counts.get(`${place} ${change}`) ?? 0) + 1
    counts.set(`${place} ${change}`, count)
    const name = count === 1 ? change : `${change} #${count}`
    found.push({ file, place, change: name, start, end, text })
  }
  const visit = (node: ts.Node, place: string, isWanted: boolean): void => {
    const name = nameOf(node)
    if (name !== undefined) seen.add(name)
    const [here, isIn] = [name ?? place, isWanted || (name !== undefined && wanted.has(name))]
    if (isIn && here !== '') for (const change of changesOf(node)) add(here, change)
    ts.forEachChild(node, (child) => visit(child, here, isIn))
  }
  visit(source, '', names.length === 0)
  const missing = names.filter((name) => !seen.has(name))
  if (missing.length > 0) throw new Error(`${file} has no ${missing.join(', ')}`)
  return found
}

/** Returns the name of a function, or of a constant that is a limit or a statement. */
function nameOf(node: ts.Node): string | undefined {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) return node.name?.getText()
  const isNamed = ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node)
  if (!isNamed || node.initializer === undefined) return undefined
  const { initializer: value } = node
  const isFunction = ts.isArrowFunction(value) || ts.isFunctionExpression(value)
  return isFunction || isLimit(node) || isSql(value) ? node.name.getText() : undefined
}

function isLimit(node: ts.Node): boolean {
  if (!ts.isVariableDeclaration(node) || !/^[A-Z][A-Z_\d]+$/.test(node.name.getText())) return false
  return /^[\d_]+n?$/.test(node.initializer?.getText() ?? '')
}

function changesOf(node: ts.Node): Change[] {
  if (isLimit(node)) {
    const { initializer } = node as ts.VariableDeclaration & { initializer: ts.Expression }
    const text = initializer.getText()
    const ten = text.endsWith('n') ? '10n' : '10'
    const more: Change = [initializer, `${text} * ${ten}`]
    // What is counted is below a tenth as seldom as below one.
    return text === '1' ? [more] : [more, [initializer, `${text} / ${ten}`]]
  }
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return conditionOf(node.expression)
  if (ts.isConditionalExpression(node)) return conditionOf(node.condition)
  if (ts.isBinaryExpression(node)) return binaryOf(node)
  if (ts.isExpressionStatement(node)) return statementOf(node)
  if (ts.isCallExpression(node)) return callOf(node)
  return sqlOf(node)
}

/** A condition of one part never holds; one of several parts loses each of them, which `binaryOf` does. */
function conditionOf(condition: ts.Expression): Change[] {
  return isJoined(condition) || isPresence(condition) ? [] : [[condition, 'false']]
}

function binaryOf(node: ts.BinaryExpression): Change[] {
  const { left, right, operatorToken } = node
  const { kind } = operatorToken
  if (kind === SyntaxKind.AmpersandAmpersandToken || kind === SyntaxKind.BarBarToken) {
    const neutral = kind === SyntaxKind.AmpersandAmpersandToken ? 'true' : 'false'
    return [left, right]
      .filter((part) => !isJoined(part) && !isPresence(part))
      .map((part) => [part, neutral])
  }
  if (kind === SyntaxKind.QuestionQuestionToken) return []
  const reversed = REVERSED.get(kind)
  if (reversed === undefined || (/[<>]/.test(reversed) && !AMOUNT.test(node.getText()))) return []
  const isText = [left, right].some((it) => ts.isStringLiteral(it) || ts.isTemplateExpression(it))
  const isJoining = kind === SyntaxKind.PlusToken && isText
  return isJoining ? [] : [[node, `${left.getText()} ${reversed} ${right.getText()}`]]
}

/** A call that is there for its effect is left out, or not awaited. */
function statementOf({ expression }: ts.ExpressionStatement): Change[] {
  const isAwaited = ts.isAwaitExpression(expression)
  const called = isAwaited || ts.isVoidExpression(expression) ? expression.expression : expression
  const isCall = ts.isCallExpression(called)
  const isGrowing =
    ts.isBinaryExpression(expression) && /^[+-]?=$/.test(expression.operatorToken.getText())
  if (!(isCall || isGrowing) || SILENT.test(called.getText())) return []
  const left: Change = [expression, '{}']
  return isAwaited ? [left, [expression, `void ${called.getText()}`]] : [left]
}

function callOf(call: ts.CallExpression): Change[] {
  const { expression, arguments: given } = call
  if (!ts.isPropertyAccessExpression(expression)) return []
  // What is written may also be lost with the power.
  if (expression.getText() === 'commit.write') return [[expression, 'commit.writeUnsynced']]
  const name = expression.name.text
  const other = OTHER_METHOD.get(name)
  if (other !== undefined) {
    const renamed = `${expression.expression.getText()}.${other}`
    return given.length > 0 ? [[expression, renamed]] : []
  }
  if (!PASSING.has(name)) return []
  return [[call, expression.expression.getText()]]
}

/** Each condition of a statement in SQL holds always; the values that it reads stay bound. */
function sqlOf(node: ts.Node): Change[] {
  if (!isSql(node)) return []
  const code = node.getText()
  return [...code.matchAll(/\b(?:WHERE|AND)\s+/g)].flatMap((match): Change[] => {
    const from = match.index + match[0].length
    const text = termAt(code, from)
    if (text === '') return []
    const start = node.getStart() + from
    const part = { getStart: () => start, getEnd: () => start + text.length }
    return [[part, `(${text} OR TRUE)`]]
  })
}

function isSql(node: ts.Node): boolean {
  const isText = ts.isTemplateExpression(node) || ts.isStringLiteralLike(node)
  return isText && /\bWHERE\b/.test(node.getText())
}

/** Returns a condition up to the next one, or up to the parenthesis that holds it. */
function termAt(code: string, from: number): string {
  let depth = 0
  let to = from
  for (; to < code.length - 1; to++) {
    if (code[to] === '(') depth++
    if (code[to] === ')') depth--
    const isOver = /^\s(?:AND|OR|ORDER|LIMIT|RETURNING|GROUP|ON|UNION)\b/.test(
      code.slice(to, to + 12),
    )
    if (depth < 0 || (depth === 0 && isOver)) break
  }
  return code.slice(from, to).trim()
}

function isJoined(node: ts.Node): boolean {
  if (ts.isParenthesizedExpression(node)) return isJoined(node.expression)
  if (!ts.isBinaryExpression(node)) return false
  const { kind } = node.operatorToken
  return kind === SyntaxKind.AmpersandAmpersandToken || kind === SyntaxKind.BarBarToken
}

/** Without a look whether a value is there the types do not fit, which the compiler says. */
function isPresence(node: ts.Node): boolean {
  if (!ts.isBinaryExpression(node)) return false
  return /[!=]==? *(?:undefined|null)$/.test(node.getText())
}
