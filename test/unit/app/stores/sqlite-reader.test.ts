import { describeActivity } from '../../directory/store/activity-contract.js'
import { describeUsage } from '../../directory/store/usage-contract.js'
import { aFile, openEngine } from './a-sqlite-engine.js'

const openFileEngine = () => openEngine(aFile)

describeUsage('SQLite with a reader thread', openFileEngine)
describeActivity('SQLite with a reader thread', openFileEngine)
