import { aFile, openEngine } from './a-sqlite-engine.js'
import { describeActivity } from './activity-contract.js'
import { describeUsage } from './usage-contract.js'

const openFileEngine = () => openEngine(aFile)

describeUsage('SQLite with a reader thread', openFileEngine)
describeActivity('SQLite with a reader thread', openFileEngine)
