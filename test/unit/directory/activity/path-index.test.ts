import { describe, expect, it } from 'vitest'
import { createPathIndex } from '../../../../src/directory/activity/attribution.js'

const index = createPathIndex([
  { id: 1, url: 'https://api.example.com/weather' },
  { id: 2, url: 'https://api.example.com/search?kind=news' },
  { id: 3, url: 'https://api.example.com/search?kind=news&lang=en' },
  { id: 4, url: 'https://api.example.com/city/:name/today' },
  { id: 5, url: 'https://api.example.com/city/lisbon/today' },
])
const find = (url: string) => index.find(new URL(url))

describe('the endpoint of a paid URL', () => {
  it('is the one of its origin and path, whatever the query', () => {
    expect(find('https://api.example.com/weather')).toBe(1)
    expect(find('https://api.example.com/weather?city=Lisbon#now')).toBe(1)
    expect(find('https://api.example.com/weather/')).toBeUndefined()
    expect(find('https://other.example.com/weather')).toBeUndefined()
    expect(find('http://api.example.com/weather')).toBeUndefined()
  })

  it('is the one whose listed query the call carries most of', () => {
    expect(find('https://api.example.com/search?q=x&kind=news')).toBe(2)
    expect(find('https://api.example.com/search?lang=en&kind=news')).toBe(3)
    expect(find('https://api.example.com/search?kind=images')).toBeUndefined()
  })

  it('is that of a template only where the path itself is not listed', () => {
    expect(find('https://api.example.com/city/porto/today')).toBe(4)
    expect(find('https://api.example.com/city/lisbon/today')).toBe(5)
    expect(find('https://api.example.com/city//today')).toBeUndefined()
    expect(find('https://api.example.com/city/porto/today/x')).toBeUndefined()
  })
})
