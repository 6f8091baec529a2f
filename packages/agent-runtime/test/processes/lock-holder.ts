// Holds the write lock of the database given, from its first word until its standard input ends.
import { DatabaseSync } from 'node:sqlite'

const database = new DatabaseSync(process.argv[2] ?? '')
database.exec('PRAGMA busy_timeout = 5000')
database.exec('BEGIN IMMEDIATE')
console.log('locked')
for await (const _ of process.stdin);
database.exec('ROLLBACK')
database.close()
