// Loaded before the service: its answers leave two seconds after they were written.
import { ServerResponse } from 'node:http'

const SLOW_MS = 2_000
const { end } = ServerResponse.prototype

ServerResponse.prototype.end = function (...args) {
  setTimeout(() => end.apply(this, args), process.env.SLOW_ANSWERS === 'yes' ? SLOW_MS : 0)
  return this
}
