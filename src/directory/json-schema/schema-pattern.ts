import { RE2JS } from 're2js'
import { SchemaFault } from './schema-shape.js'

/** Returns whether a text has a match. */
type SchemaPattern = (text: string) => boolean

/** Any character up to a thousand times, `.{0,1000}`, has two thousand instructions. */
const MAX_SIZE = 2_100
/** Work to compile a pattern, by measurement: in all, and for each character, instruction and class such as `\p{L}`. */
const costs = { pattern: 500, char: 30, instruction: 15, unicodeClass: 1_500 }
/** Characters times instructions that are searched in one unit of work. */
const STEPS_AT_ONCE = 2
const MAX_SHOWN_CHARS = 60
/** One character, escape or class, a bracket, or a repeat; each alternative consumes what the next would misread. */
const token =
  /\\[pPu]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\{(\d+)(,(\d*))?\}|\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?|./gsu

/**
 * Returns at least as many instructions as a pattern of ECMAScript has once its repeats are written out; known before it
 * is compiled, because that alone may take long.
 */
function patternSize(pattern: string): number {
  const open: number[] = []
  let done = 0
  let last = 0
  for (const [text, least, comma, most] of pattern.matchAll(token)) {
    if (least !== undefined) {
      const times = Math.max(Number(least), Number(most ?? 0))
      // Each copy of an optional part needs an instruction that skips it.
      last = (last + (comma === undefined ? 0 : 1)) * times + 1
    } else if (text === '*' || text === '+' || text === '?') {
      last += 1
    } else if (text === ')') {
      last += done + 2
      done = open.pop() ?? 0
    } else {
      done += last
      last = 0
      if (text.startsWith('(')) {
        open.push(done)
        done = 0
      } else {
        last = 1
      }
    }
  }
  return done + last
}

/**
 * Compiles a pattern with RE2, which never goes back in a text: a search takes time that grows with text and pattern alone.
 * `spend` counts the work of both. Throws a `SchemaFault` where the pattern is no regular expression of ECMAScript, is too
 * large, or needs what RE2 does not have.
 */
export function compilePattern(pattern: string, spend: (units: number) => void): SchemaPattern {
  const shown = `${JSON.stringify(pattern.slice(0, MAX_SHOWN_CHARS))}${pattern.length > MAX_SHOWN_CHARS ? '…' : ''}`
  const unicodeClasses = pattern.match(/\\p/gi)?.length ?? 0
  spend(costs.pattern + pattern.length * costs.char + unicodeClasses * costs.unicodeClass)
  if (!isEcmaScript(pattern)) throw unusable(`the pattern ${shown} is no regular expression`)
  const size = patternSize(pattern)
  if (size > MAX_SIZE) {
    throw unusable(`the pattern ${shown} is too large once its repeats are written out`)
  }
  spend(size * costs.instruction)
  const compiled = compile(pattern)
  if (compiled === undefined) {
    throw unusable(
      `the pattern ${shown} needs more than RE2 has: it may have no lookahead, lookbehind or backreference, repeats up to 1000, and classes such as \\p{L} or \\p{Greek} by these names`,
    )
  }
  return (text) => {
    spend((compiled.programSize() * (text.length + 1)) / STEPS_AT_ONCE)
    return compiled.test(text)
  }
}

function compile(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch {
    return undefined
  }
}

/** The pattern is only parsed here and never run. */
function isEcmaScript(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

const unusable = (message: string) => new SchemaFault('schema', message)
