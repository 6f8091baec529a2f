import { conformance } from './parts.ts'

conformance('pipelines')
