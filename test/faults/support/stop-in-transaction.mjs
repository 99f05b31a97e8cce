// Loaded before the service. Once the file STOP_IN_TRANSACTION exists, the next payment that checks its lease is made part
// of a transaction which locks the sums of gas as well. There the whole process stops, as on a machine that stands still.
import { existsSync, renameSync } from 'node:fs'
import pg from 'pg'

const trigger = String(process.env.STOP_IN_TRANSACTION)
const { query } = pg.Client.prototype

pg.Client.prototype.query = function (config, ...rest) {
  const text = typeof config === 'string' ? config : config.text
  const isPayment = /\bleases\b.*FOR KEY SHARE/s.test(text)
  if (!isPayment || !existsSync(trigger)) return query.call(this, config, ...rest)
  renameSync(trigger, `${trigger}.taken`)
  query.call(this, 'BEGIN').catch(() => {})
  const answer = query.call(this, config, ...rest)
  query
    .call(this, 'SELECT 1 FROM gas_spending FOR UPDATE')
    .then(() => {
      renameSync(`${trigger}.taken`, `${trigger}.stopped`)
      process.kill(process.pid, 'SIGSTOP')
    })
    .catch(() => {})
  return answer
}
