export { createSubscribers, type Subscribers } from './subscribers.ts';
