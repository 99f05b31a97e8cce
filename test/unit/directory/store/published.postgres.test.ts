import pg from 'pg'
import { openPostgresStores } from '../../../../src/app/stores/postgres.js'
import { startPostgres } from '../../../support/postgres.js'
import { describePublished } from './published-contract.js'

describePublished('PostgreSQL', async () => {
  const server = await startPostgres()
  const url = await server.createDatabase()
  const one = await openPostgresStores({ url, poolSize: 2 })
  const other = await openPostgresStores({ url, poolSize: 2 })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    one,
    other,
    execute: (sql) => client.query(sql),
    async close() {
      await client.end()
      await one.close()
      await other.close()
      await server.close()
    },
  }
})
