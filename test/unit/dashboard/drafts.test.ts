import { describe, expect, it } from 'vitest'
import {
  createDraftStorage,
  type DraftShelf,
  emptyEndpoint,
  fillEndpoint,
  idFromName,
  titleFromUrl,
} from '../../../src/dashboard/pages/console/editor/draft.js'
import { aDraft } from './a-draft.js'

function aShelf(): DraftShelf & { kept: Map<string, string> } {
  const kept = new Map<string, string>()
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  }
}

describe('drafts on a device', () => {
  it('come back as they were, one for each listing', () => {
    const storage = createDraftStorage(aShelf())
    const kept = { draft: aDraft(), revision: 3, savedAt: 1 }
    expect(storage.write('penny-quotes', kept)).toBe(true)
    expect(storage.read('penny-quotes')).toEqual(kept)
    expect(storage.read('new')).toBeUndefined()
    storage.drop('penny-quotes')
    expect(storage.read('penny-quotes')).toBeUndefined()
  })

  it.each(['', 'nonsense', 'null', '{}', '{"draft":{"id":1},"revision":0,"savedAt":0}'])(
    'are nothing when what is kept is %j',
    (text) => {
      const shelf = aShelf()
      shelf.kept.set('arcus:draft:new', text)
      expect(createDraftStorage(shelf).read('new')).toBeUndefined()
    },
  )

  it('are given up without a word where nothing may be kept', () => {
    const full: DraftShelf = {
      ...aShelf(),
      setItem() {
        throw new Error('QuotaExceededError')
      },
    }
    const kept = { draft: aDraft(), revision: 0, savedAt: 1 }
    expect(createDraftStorage(full).write('new', kept)).toBe(false)
    expect(createDraftStorage(undefined).write('new', kept)).toBe(false)
  })
})

describe('a form filled from a live 402', () => {
  const quoted = {
    url: 'https://api.example.com/air-quality',
    method: 'POST',
    pricing: 'fixed',
    price: '2500',
    asset: '0x36',
    payTo: '0x15',
    network: 'eip155:5042',
    description: 'Fine dust',
    example: { body: { city: 'Porto' } },
  } as const

  it('takes what is quoted, and a title from the path where none is', () => {
    expect(fillEndpoint(emptyEndpoint(), quoted)).toMatchObject({
      method: 'POST',
      price: '0.0025',
      title: 'Air quality',
      description: 'Fine dust',
      example: '{\n  "city": "Porto"\n}',
    })
  })

  it('keeps what the owner wrote, but not a price that is no more', () => {
    const written = { ...emptyEndpoint(), title: 'Mine', description: 'My words', price: '9' }
    expect(fillEndpoint(written, quoted)).toMatchObject({
      title: 'Mine',
      description: 'My words',
      price: '0.0025',
    })
  })
})

it('suggests ids and titles that the service takes, or none', () => {
  expect(['Café Münster & Co.', '天気', 'a', '-- x --y'].map(idFromName)).toEqual([
    'cafe-munster-co',
    '',
    '',
    'x-y',
  ])
  expect(titleFromUrl('https://api.example.com/v1/air_quality.json')).toBe('Air quality')
  expect(titleFromUrl('nonsense')).toBe('')
})
