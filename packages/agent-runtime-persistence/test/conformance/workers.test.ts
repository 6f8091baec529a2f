import { conformance } from './parts.ts'

conformance('workers')
