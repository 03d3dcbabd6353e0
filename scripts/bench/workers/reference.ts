/**
 * What Perch is measured beside: a bare object with a plain loop over the same provider package. It keeps messages as
 * rows (and in memory, as one would), runs the same tool, streams text to its client, and does nothing else: no key,
 * no log, no recovery, no prompt but the one that it is given.
 */

import { DurableObject } from 'cloudflare:workers';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider';
import { lookUp } from '../lookup.ts';

interface ReferenceEnv {
  REFERENCES: DurableObjectNamespace<Reference>;
  MODEL_SERVER: string;
  /** JSON: what Perch sends before the conversation, so that both send the same bytes. */
  SETUP: string;
}

interface Setup {
  system: string;
  tools: LanguageModelV4FunctionTool[];
  /** User messages behind the first prompt. */
  opening: string[];
}

type Emit = (text: string) => void;

export class Reference extends DurableObject<ReferenceEnv> {
  readonly #provider;
  readonly #setup: Setup;
  #messages: LanguageModelV4Message[] | null = null;

  constructor(ctx: DurableObjectState, env: ReferenceEnv) {
    super(ctx, env);
    ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, message TEXT NOT NULL)',
    );
    this.#setup = JSON.parse(env.SETUP);
    this.#provider = createOpenAICompatible({
      name: 'stand-in',
      baseURL: env.MODEL_SERVER,
      includeUsage: true,
    });
  }

  override async fetch(request: Request): Promise<Response> {
    const { text, model }: { text: string; model: string } = await request.json();
    const encoder = new TextEncoder();
    let client: ReadableStreamDefaultController<Uint8Array> | null = null;
    const readable = new ReadableStream<Uint8Array>({
      start(controller) {
        client = controller;
      },
      cancel() {
        client = null;
      },
    });
    const emit: Emit = (piece) => {
      client?.enqueue(encoder.encode(`event: delta\ndata: ${JSON.stringify({ text: piece })}\n\n`));
    };
    this.ctx.waitUntil(this.#runTurn(text, model, emit).finally(() => client?.close()));
    return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
  }

  async #runTurn(text: string, model: string, emit: Emit): Promise<void> {
    const messages = this.#load();
    const isFirst = messages.length === 0;
    this.#add(messages, { role: 'user', content: [{ type: 'text', text }] });
    if (isFirst) {
      for (const opening of this.#setup.opening)
        this.#add(messages, { role: 'user', content: [{ type: 'text', text: opening }] });
    }
    for (;;) {
      const calls = await this.#ask(messages, model, emit);
      if (calls.length === 0) return;
      for (const { toolCallId, toolName, input } of calls) {
        const value = lookUp(JSON.parse(input).key);
        this.#add(messages, {
          role: 'tool',
          content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }],
        });
      }
    }
  }

  async #ask(
    messages: LanguageModelV4Message[],
    model: string,
    emit: Emit,
  ): Promise<LanguageModelV4ToolCall[]> {
    const { system, tools } = this.#setup;
    const { stream } = await this.#provider.chatModel(model).doStream({
      prompt: [{ role: 'system', content: system }, ...messages],
      tools,
    });
    const calls: LanguageModelV4ToolCall[] = [];
    let text = '';
    const reader = stream.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const part = next.value;
      if (part.type === 'text-delta') {
        text += part.delta;
        emit(part.delta);
      } else if (part.type === 'tool-call') {
        calls.push(part);
      } else if (part.type === 'error') throw part.error;
    }
    this.#add(messages, {
      role: 'assistant',
      content: [
        ...(text === '' ? [] : [{ type: 'text' as const, text }]),
        ...calls.map(({ toolCallId, toolName, input }) => ({
          type: 'tool-call' as const,
          toolCallId,
          toolName,
          input: JSON.parse(input),
        })),
      ],
    });
    return calls;
  }

  #load(): LanguageModelV4Message[] {
    this.#messages ??= this.ctx.storage.sql
      .exec<{ message: string }>('SELECT message FROM messages ORDER BY id')
      .toArray()
      .map(({ message }) => JSON.parse(message));
    return this.#messages;
  }

  #add(messages: LanguageModelV4Message[], message: LanguageModelV4Message): void {
    this.ctx.storage.sql.exec('INSERT INTO messages (message) VALUES (?)', JSON.stringify(message));
    messages.push(message);
  }
}

export default {
  fetch(request: Request, env: ReferenceEnv): Promise<Response> {
    const session = new URL(request.url).pathname;
    return env.REFERENCES.get(env.REFERENCES.idFromName(session)).fetch(request);
  },
};
