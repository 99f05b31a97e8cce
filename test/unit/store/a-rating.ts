import type { NewRating } from '../../../src/directory/store/ratings.js'

export const payer = (number: number) => `0x${number.toString(16).padStart(40, '0')}` as const
export const payTo = payer(0xfe)
export const weather = {
  network: 'eip155:5042',
  payTo,
  url: 'https://api.example/weather',
  toolName: '',
}

export function aRating(over: Partial<NewRating> = {}): NewRating {
  return {
    ...weather,
    id: 'paid-1',
    payer: payer(1),
    score: 87,
    amount: '10000',
    weight: 10_000,
    transaction: '0x77',
    message: '{"tag":"quick","link":""}',
    signature: '0x51',
    ratedAt: 1_000,
    ...over,
  }
}
