import { httpCodes } from '../http/http-codes.js'
import { cached } from '../http/openapi/cached-answer.js'
import type { Operation } from '../http/openapi/operation.js'
import { browseAnswer, changesAnswer, resourcesAnswer, searchAnswer } from './answer-schemas.js'
import { browseQuery, changesQuery, listQuery, rankedQuery } from './queries.js'

const nothing = { x402Version: 2 } as const

export const resourcesOperation: Operation = {
  id: 'listResources',
  tag: 'Discovery',
  summary: 'Paid APIs that settle here',
  description:
    'In order of creation, so that pages stay where they are. Endpoints that failed three looks in a row are found with `merchant` only.',
  query: listQuery,
  answers: cached('A page.', resourcesAnswer),
  codes: [httpCodes.unavailable],
  examples: {
    firstPage: { summary: 'The first two', query: { limit: '2' }, status: 200 },
    nothingFound: {
      summary: 'Words nobody wrote',
      query: { q: 'zyxwvut' },
      status: 200,
      answer: { ...nothing, items: [], pagination: { limit: 20, offset: 0, total: 0 } },
    },
    outOfBounds: {
      summary: 'A page that is too long',
      query: { limit: '101' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'limit must be an integer from 1 to 100.',
      },
    },
  },
}

export const searchOperation: Operation = {
  id: 'searchResources',
  tag: 'Discovery',
  summary: 'The same, ranked by how well they fit',
  description:
    'Words in the title come first, then tags, provider, description and URL; live endpoints before others. Where nothing has the words as typed, misspelled ones are corrected to words of the catalog, and `correctedQuery` says so.',
  query: rankedQuery,
  answers: cached('A page.', searchAnswer),
  codes: [httpCodes.unavailable],
  examples: {
    weather: {
      summary: 'By word and price',
      query: { query: 'weather', maxPrice: '20000' },
      status: 200,
    },
    misspelled: { summary: 'A slip of the hand', query: { query: 'wether' }, status: 200 },
    nothingFound: {
      summary: 'Words nobody wrote',
      query: { query: 'zyxwvut' },
      status: 200,
      answer: {
        ...nothing,
        resources: [],
        partialResults: false,
        pagination: { limit: 20, cursor: null },
      },
    },
    noWords: {
      summary: 'No words',
      query: { query: ' ' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'query is required: words to look for, at most 200 characters.',
      },
    },
  },
}

export const changesOperation: Operation = {
  id: 'listChanges',
  tag: 'Discovery',
  summary: 'What changed since a crawler last asked',
  description:
    'Merchants in the order in which they changed, each with all items it has now: what else is held of it is gone. One that is removed has none. Go on with `next` while `hasMore`, and later.',
  query: changesQuery,
  answers: cached('A page.', changesAnswer),
  codes: [httpCodes.unavailable],
  examples: {
    fromTheBeginning: { summary: 'The whole catalog', query: { limit: '2' }, status: 200 },
    notANumber: {
      summary: 'A time instead of a number',
      query: { since: '2026-11-21' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'since must be an integer from 0 to 9007199254740991.',
      },
    },
  },
}

export const browseOperation: Operation = {
  id: 'browseEndpoints',
  tag: 'Discovery',
  summary: 'The same as cards of the console, with how each endpoint stands',
  query: browseQuery,
  answers: { 200: { description: 'A page.', schema: browseAnswer } },
  codes: [httpCodes.unavailable],
  examples: {
    firstPage: { summary: 'The first two', query: { limit: '2' }, status: 200 },
    words: { summary: 'By word', query: { query: 'zyxwvut' }, status: 200 },
    strangeCursor: {
      summary: 'A cursor no page gave',
      query: { query: 'weather', cursor: 'next' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'cursor must be one that a page before gave.',
      },
    },
  },
}
