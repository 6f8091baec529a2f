import './library.test.ts'
