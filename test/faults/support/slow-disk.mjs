// Loaded before the service: while the file named in SLOW_DISK exists, a sync of the disk takes six seconds.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const SLOW_MS = 6_000
const { fdatasync } = fs

fs.fdatasync = (file, done) => {
  fdatasync(file, (error) => {
    if (fs.existsSync(process.env.SLOW_DISK)) setTimeout(done, SLOW_MS, error)
    else done(error)
  })
}
syncBuiltinESMExports()
