import { conformance } from './parts.ts'

conformance('supervision')
