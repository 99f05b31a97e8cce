import { expect, it } from 'vitest'
import { createLogger } from '../../../src/app/logger.js'
import { createRefusalLog } from '../../../src/facilitator/refusal-log.js'

it('a flood of refused settles writes a bounded number of lines at info, and their number', () => {
  const lines: Record<string, unknown>[] = []
  const log = createLogger({
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  })
  let ms = 0
  const note = createRefusalLog(log, () => ms)
  for (let minute = 0; minute < 3; minute++) {
    for (let i = 0; i < 6_000; i++) {
      note(log, { payer: `0x${i}` })
      ms += 10
    }
  }
  const refused = lines.filter(({ msg }) => msg === 'settle refused')
  expect(refused).toHaveLength(180)
  expect(refused[59]).toMatchObject({ payer: '0x59' })
  expect(lines.filter(({ msg }) => msg !== 'settle refused')).toMatchObject([
    { count: 5_940 },
    { count: 5_940 },
  ])
})

it('a few refused settles have a line each, and no more', () => {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  })
  let ms = 0
  const note = createRefusalLog(log, () => ms)
  for (let i = 0; i < 200; i++) {
    note(log, {})
    ms += 2_000
  }
  expect(lines).toHaveLength(200)
})
