import { config } from 'zod'

// The content policy forbids code made from text. Without this, zod tries it when the first schema is made.
config({ jitless: true })
