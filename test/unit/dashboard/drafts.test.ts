import { describe, expect, it } from 'vitest'
import {
  createDraftStorage,
  emptyEndpoint,
  fillEndpoint,
  idFromName,
  type TextStorage,
  titleFromUrl,
} from '../../../src/dashboard/pages/console/editor/draft.js'
import { aDraft } from './a-draft.js'

function aStorage(): TextStorage & { kept: Map<string, string> } {
  const kept = new Map<string, string>()
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  }
}

describe('drafts on a device', () => {
  it('are read as they were written, one for each listing', () => {
    const storage = createDraftStorage(aStorage())
    const kept = { draft: aDraft(), revision: 3, savedAt: 1 }
    expect(storage.write('penny-quotes', kept)).toBe(true)
    expect(storage.read('penny-quotes')).toEqual(kept)
    expect(storage.read('new')).toBeUndefined()
    storage.drop('penny-quotes')
    expect(storage.read('penny-quotes')).toBeUndefined()
  })

  it.each(['', 'nonsense', 'null', '{}', '{"draft":{"id":1},"revision":0,"savedAt":0}'])(
    'are ignored if the kept text is %j',
    (text) => {
      const storage = aStorage()
      storage.kept.set('arcus:draft:new', text)
      expect(createDraftStorage(storage).read('new')).toBeUndefined()
    },
  )

  it('are dropped without an error where the storage is full or forbidden', () => {
    const full: TextStorage = {
      ...aStorage(),
      setItem() {
        throw new Error('QuotaExceededError')
      },
    }
    const kept = { draft: aDraft(), revision: 0, savedAt: 1 }
    expect(createDraftStorage(full).write('new', kept)).toBe(false)
    expect(createDraftStorage(undefined).write('new', kept)).toBe(false)
  })
})

describe('an endpoint filled from a live 402', () => {
  const listing = {
    url: 'https://api.example.com/air-quality',
    method: 'POST',
    pricing: 'fixed',
    price: '2500',
    asset: '0x36',
    symbol: 'USDC',
    currency: 'USD',
    payTo: '0x15',
    network: 'eip155:5042',
    description: 'Fine dust',
    example: { body: { city: 'Porto' } },
  } as const
  const quoted = {
    verdict: 'live',
    message: '',
    warnings: ['schema_missing'],
    seen: {},
    checkedAt: 1,
    listing,
  }

  it('takes the quoted values, and a title from the path if there is none', () => {
    expect(fillEndpoint(emptyEndpoint(), quoted)).toMatchObject({
      method: 'POST',
      price: '0.0025',
      title: 'Air quality',
      description: 'Fine dust',
      example: '{\n  "city": "Porto"\n}',
      found: { price: '2500', payTo: '0x15', warnings: ['schema_missing'], checkedAt: 1 },
    })
  })

  it('keeps the texts of the owner, but not an old price', () => {
    const written = { ...emptyEndpoint(), title: 'Mine', description: 'My words', price: '9' }
    expect(fillEndpoint(written, quoted)).toMatchObject({
      title: 'Mine',
      description: 'My words',
      price: '0.0025',
    })
  })
})

it('suggests ids and titles that the service accepts, or none', () => {
  expect(['Café Münster & Co.', '天気', 'a', '-- x --y'].map(idFromName)).toEqual([
    'cafe-munster-co',
    '',
    '',
    'x-y',
  ])
  expect(titleFromUrl('https://api.example.com/v1/air_quality.json')).toBe('Air quality')
  expect(titleFromUrl('nonsense')).toBe('')
})
