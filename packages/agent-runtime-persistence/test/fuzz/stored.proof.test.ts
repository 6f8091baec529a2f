import './stored.test.ts'
