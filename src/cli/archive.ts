import { archiveBeside } from '../config/config.js'
import { type ArchiveFile, listArchive, readArchive } from '../store/archive.js'
import { ArchiveError } from '../store/errors.js'
import { print, printError, UsageError } from './command-line.js'
import { CommandError, readDatabase, runCommand } from './operator-command.js'

const help = `npm run archive [-- --folder FOLDER]
npm run archive -- verify [--folder FOLDER]
npm run archive -- find TEXT [--folder FOLDER]

Shows the files of old payments that JOURNAL_RETENTION_DAYS has moved out of the journal.

  verify           reads every file whole and compares count and SHA-256; exits 1 when one is damaged
  find             prints the rows with this nonce, transaction hash, payer or id, one JSON object a line; exits 1 when
                   there is none
  --folder         default ARCHIVE_FOLDER, else the folder archive beside the SQLite file of DATABASE_URL
  --help           this text`

const config = { allowPositionals: true, options: { folder: { type: 'string' } } } as const

process.exitCode = await runCommand(help, config, async ({ values, positionals }) => {
  const [action = 'list', text, ...more] = positionals
  const isWhole = action === 'find' ? text !== undefined : text === undefined
  if (!['list', 'verify', 'find'].includes(action) || !isWhole || more.length > 0) {
    throw new UsageError('Say nothing, verify, or find TEXT; try --help.')
  }
  const files = await listArchive(values.folder ?? defaultFolder())
  if (action === 'find') return find(files, text as string)
  for (const { path, shelf, from, rows, bytes } of files) {
    print(
      `${shelf.padEnd(12)}  from ${from}  ${String(rows).padStart(6)} rows  ${bytes} bytes  ${path}`,
    )
  }
  if (action === 'verify') await verify(files)
})

function defaultFolder(): string {
  const folder = process.env.ARCHIVE_FOLDER?.trim() || archiveBeside(readDatabase())
  if (folder === undefined) throw new UsageError('Set ARCHIVE_FOLDER, or name it with --folder.')
  return folder
}

async function verify(files: readonly ArchiveFile[]): Promise<void> {
  let damaged = 0
  let rows = 0
  for (const { path } of files) {
    try {
      for await (const _ of readArchive(path)) rows++
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error
      damaged++
      printError(error.message)
    }
  }
  if (damaged > 0) throw new CommandError(`${damaged} of ${files.length} files are damaged.`)
  print(`${files.length} files are whole: ${rows} rows.`)
}

/** Prints each row that has the text as one of its values, or as a part of the key of a payment. */
async function find(files: readonly ArchiveFile[], text: string): Promise<void> {
  const wanted = text.toLowerCase()
  let found = 0
  for (const { path, shelf } of files) {
    for await (const row of readArchive(path)) {
      const key = typeof row.key === 'string' ? row.key.split('/') : []
      const jobs = Array.isArray(row.jobs) ? row.jobs : []
      if (![...Object.values(row), ...key, ...jobs].includes(wanted)) continue
      found++
      print(JSON.stringify({ shelf, ...row }))
    }
  }
  if (found === 0) throw new CommandError(`No row in ${files.length} files has ${text}.`)
}
