import { existsSync } from 'node:fs'

// What is already in the environment wins over the file.
if (existsSync('.env')) process.loadEnvFile('.env')
await import('../main.js')
