import './shares.test.ts'
