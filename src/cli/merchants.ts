import { exitCodeOf, loadEnvFile, print } from './command-line.js'
import { readCommand } from './merchants/commands.js'
import { withStores } from './merchants/operator-stores.js'
import { explain } from './operator-command.js'

const help = `npm run merchants -- COMMAND

Decisions about merchants that only the operator makes. It works while the service runs, which follows within two seconds.

  list                              every merchant, hidden and deleted ones too
  show ID                           everything that is stored about one merchant
  official ID on|off                run by the operator; its payTo must be BUYBACK_ADDRESS
  partner ID on|off
  hosted ID URL [METHOD] on|off     an endpoint that the operator hosts
  hide ID --reason "why"            removes it from every public list; the reason is public
  unhide ID
  block payer|payTo ADDRESS --reason "why"
  unblock payer|payTo ADDRESS       the same as npm run blocks, which also lists them
  --help                            this text

Settings are read as the service reads them: DATABASE_URL, BUYBACK_ADDRESS and so on, from .env too.`

process.exitCode = await exitCodeOf(async () => {
  const command = readCommand(process.argv.slice(2))
  if (command === 'help') return print(help)
  loadEnvFile()
  await withStores((stores) => command(stores, writeOut))
}, explain)

/** Resolves once the terminal, or the program that reads the output, has taken the piece. */
function writeOut(piece: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(piece, (error) => (error == null ? resolve() : reject(error)))
  })
}
