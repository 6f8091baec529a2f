import './lost-leases.test.ts'
