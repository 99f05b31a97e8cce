import type { Question } from './answers.js'
import type { CatalogFilter } from './conditions.js'
import { wordsOf } from './fold.js'

/** What an outline of the catalog knows: its merchants, and how each endpoint stands. */
const outlined: readonly string[] = [
  'merchant',
  'official',
  'verified',
] satisfies (keyof CatalogFilter)[]

/** Whether the question can be answered out of an outline. Items are read from the store in any case. */
export function isOutlined(question: Question): boolean {
  switch (question.kind) {
    case 'changes':
      return true
    case 'search':
      return false
    case 'resources':
      return wordsOf(question.query.q).length === 0 && asksNoMore(question.query.filter)
    case 'cards':
      return question.query.kind === 'list' && asksNoMore(question.query.filter)
  }
}

function asksNoMore(filter: CatalogFilter): boolean {
  return Object.keys(filter).every((name) => outlined.includes(name))
}
