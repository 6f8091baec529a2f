// Writes the part of docs/http-api.md that is made from the routes: node packages/agent-runtime-server/test/write-api-page.ts
import { writeApiPage } from './api-table.ts'

writeApiPage()
