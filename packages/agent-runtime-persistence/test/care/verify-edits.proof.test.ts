import './verify-edits.test.ts'
