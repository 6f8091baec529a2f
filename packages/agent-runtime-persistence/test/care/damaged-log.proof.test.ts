import './damaged-log.test.ts'
