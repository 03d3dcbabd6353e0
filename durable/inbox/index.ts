export { createAdmissions } from './admissions.ts';
export { type AdmitPorts, admitMessage } from './admit.ts';
export { createInbox, type Inbox, type InboxItem, toClaimOrder } from './inbox.ts';
export { createReceipts, type Receipts } from './receipts.ts';
