import { fold, tokensOf } from './fold.js'

/** Words of English that say nothing about what is looked for, and the politeness of people and models. */
const stopWords = new Set(
  (
    'a about all also an and any anything api apis are as at be because been but by call can could did do does for from ' +
    'get gets getting give gives has have having help here how i if in into is it its just like list look looking make ' +
    'many may me might more most much my need needs not of off on one only or our out over please provide provides ' +
    'return returns service services should show shows so some something tell than thank thanks that the their them ' +
    'then there these they thing things this to up us use using want wants was we were what when where which while who ' +
    'why will with would you your find finds search'
  ).split(' '),
)
/** Longer sentences are cut: each word costs a look at every endpoint. */
const MAX_WORDS = 12
/** A shorter word is no plural: `gas`, `bus`. */
const SHORTEST_PLURAL = 4

/** Returns the folded words of a sentence that say what is looked for, plurals as their singulars. */
export function contentWords(sentence: string): string[] {
  const words = tokensOf(fold(sentence))
    .map((token) => token.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '').replace(/['’]s$/, ''))
    .filter((word) => word !== '' && !stopWords.has(word))
    .map(singular)
  return [...new Set(words)].slice(0, MAX_WORDS)
}

function singular(word: string): string {
  if (word.length < SHORTEST_PLURAL || !word.endsWith('s') || /(ss|us|is)$/.test(word)) return word
  return word.slice(0, -1)
}
