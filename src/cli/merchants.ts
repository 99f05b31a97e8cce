import { merchantCommands } from './merchants/commands.js'
import { defineSubcommands } from './merchants/subcommands.js'

const help = `arcus merchants COMMAND

Decisions that only the operator makes. It works while the service runs, which follows within two seconds.

  list                              every merchant, hidden and deleted ones too
  show ID                           everything that is stored about one merchant
  official ID on|off                run by the operator; its payTo must be BUYBACK_ADDRESS
  partner ID on|off
  hosted ID URL [METHOD] on|off     an endpoint that the operator hosts
  hide ID --reason "why"            removes it from every public list; the reason is public
  unhide ID
  block payer|payTo ADDRESS [--reason "why"]
  unblock payer|payTo ADDRESS
  blocks                            every blocked address
  log [--limit N] [--json]          who decided what and when, the newest last; default 50
  --help                            this text

The log has every decision of these commands, of "restore" and "reconcile", and each change of the relayer
keys. It names the user and the machine of the command, or ARCUS_OPERATOR if that is set. No entry can be changed.`

export const command = defineSubcommands(help, merchantCommands)
