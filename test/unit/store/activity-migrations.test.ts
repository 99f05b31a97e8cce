import { createActivityStore } from '../../../src/store/sql/activity.js'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.js'
import { createSql } from '../../../src/store/sqlite/sql.js'
import {
  type ActivityMigration,
  describeActivityMigrations,
  readMigration,
} from './activity-migrations-contract.js'

async function onSqlite({ before, sqlite }: ActivityMigration) {
  const database = openDatabase(':memory:')
  database.exec(before)
  database.exec(readMigration('sqlite', sqlite))
  const commit = createGroupCommit(database)
  const close = async () => {
    await commit.close()
    database.close()
  }
  return { activity: createActivityStore(createSql(database, commit)), close }
}

describeActivityMigrations('SQLite', onSqlite)
