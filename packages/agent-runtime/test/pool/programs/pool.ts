// A program with a pool on the store at argv[2]; says `ready` when its workers take tasks.
import { createPool } from '../../../src/index.ts'

const module = new URL('./tasks.ts', import.meta.url)
await createPool({ store: process.argv[2] ?? '', module, signals: true, logger: false })
console.log('ready')
