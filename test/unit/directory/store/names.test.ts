import { describe, expect, it } from 'vitest'
import {
  findReserved,
  findTick,
  lookOf,
  looksWithin,
  mixesAlphabets,
} from '../../../../src/directory/store/name-rules.js'

const shows = (name: string, other: string) => looksWithin(name).has(lookOf(other))

describe('the look of a name', () => {
  it.each([
    'ARCUS',
    'Arcus Official',
    'Arcus · Verified ✓',
    'Arcus (operator)',
    'Arcus Endpoints by the facilitator',
    'ꓮrcus',
    'ɑrcus',
    'Arᴄus',
    'Аrcus',
    'А rcus',
    'Ar\u200bcus',
    'A\u2060r\u00adcus',
    'Ａｒｃｕｓ',
    '𝐀𝐫𝐜𝐮𝐬',
    'ᴀʀᴄᴜꜱ',
    'Ⓐⓡⓒⓤⓢ',
    'A.r.c.u.s',
    'A r c u s',
    'Ar-cus',
    'Ärçuş',
    'ArcusPay',
    'MyArcus',
    'Arcus402',
    'Arcus™',
    'Arcus|HQ',
    'Arc∪s',
    'A🅡🅒🅤🅢',
    '🅰🆁🅲🆄🆂',
    '🇦🇷🇨🇺🇸',
    'ᵃʳᶜᵘˢ',
    'ₐᵣcᵤₛ',
    'the "Arcus" shop',
  ])('is found as a word of another: %s', (name) => {
    expect(shows(name, 'Arcus')).toBe(true)
  })

  it.each(['Marcus', 'Arctic Data', 'Barcus', 'Circus', 'Arc Use', 'Аркус', 'アーカス', ''])(
    'is no part of a word: %s',
    (name) => {
      expect(shows(name, 'Arcus')).toBe(false)
    },
  )

  it.each([
    ['4rcu5', 'Arcus'],
    ['Arcu５', 'Arcus'],
    ['4RCU5 Pay', 'Arcus'],
    ['W3ather H0use', 'Weather House'],
    ['Srnart Maps', 'Smart Maps'],
    ['VVeather House', 'Weather House'],
    ['Clata Ciock', 'Data Clock'],
    ['Market clata', 'Market data'],
  ])('%s looks like %s', (name, other) => {
    expect(shows(name, other)).toBe(true)
  })

  it.each([
    ['Agent 5', 'Agents'],
    ['Area 51', 'Areas'],
    ['Tides 2026', 'Tide szob'],
  ])('%s does not look like %s', (name, other) => {
    expect(lookOf(name)).not.toBe(lookOf(other))
  })

  it('of the operator is refused with digits for letters', () => {
    for (const name of ['0ff1c1al Shop', 'V3rified', 'Facilit4tor']) {
      expect(findReserved(name)).toBeDefined()
    }
  })

  it('of several words is found however they are spaced, and not where one is missing', () => {
    for (const name of ['Tide Tables Pro', 'TIDE-TABLES', 'tideTables', 'my tide tabIes']) {
      expect(shows(name, 'Tide tables')).toBe(true)
    }
    expect(shows('Tables', 'Tide tables')).toBe(false)
    expect(shows('Tide and tables', 'Tide tables')).toBe(false)
  })

  it('of letters that other alphabets have too is the same', () => {
    for (const name of ['Асme Рау', 'Acme Pау', 'Acme P4y'.replace('4', 'ɑ')]) {
      expect(shows(name, 'Acme Pay')).toBe(true)
    }
  })
})

describe('a reserved word', () => {
  it.each([
    ['Arcus Official', 'official'],
    ['0fficiaI weather', 'official'],
    ['Vеrified', 'verified'],
    ['Ver1fied', 'verified'],
    ['ｏｆｆｉｃｉａｌ', 'official'],
    ['O.f.f.i.c.i.a.l', 'official'],
    ['arcusofficial', 'official'],
    ['Operators of Arcus', 'operator'],
    ['by the Facilitator', 'facilitator'],
    ['Weather ✓', '✓'],
    ['Weather ✅', '✅'],
    ['✔️ Weather', '✔'],
    ['Weather ☑', '☑'],
    ['Weather √', '√'],
    ['Weather 🗸', '🗸'],
    ['Weather 🅥', '🅥'],
    ['Weather ⓥ', 'ⓥ'],
    ['Weather 🆅', '🆅'],
    ['Weather ꪜ', 'ꪜ'],
    ['🅞🅕🅕🅘🅒🅘🅐🅛 weather', 'official'],
    ['ᵒᶠᶠⁱᶜⁱᵃˡ weather', 'official'],
  ])('is found: %s', (name, found) => {
    expect(findReserved(name)).toBe(found)
  })

  it.each([
    'Unofficial rates',
    'Unverified',
    'Cooperator',
    'Office weather',
    'Verify mails',
    'Погода',
  ])('is not found: %s', (name) => {
    expect(findReserved(name)).toBeUndefined()
    expect(findTick(name)).toBeUndefined()
  })
})

describe('a word', () => {
  it.each(['Раypal', 'Λrcus', 'Ⲁrcus', 'Arϲus'])('mixes alphabets: %s', (name) => {
    expect(mixesAlphabets(name)).toBe(true)
  })
  it.each(['Погода', 'Погода API', '天気', 'テストAPI', '날씨API', 'Café', 'π day'])(
    'does not: %s',
    (name) => {
      expect(mixesAlphabets(name)).toBe(false)
    },
  )
})
