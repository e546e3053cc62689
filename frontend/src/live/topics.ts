/** What is known of each subscribed topic: a pure reducer over server messages. */

export interface TopicState {
  /** Number of the last snapshot taken in on this connection; 0 before the first. */
  seq: number;
  snapshot: unknown;
  /** Set while the server cannot read the topic or refuses it. */
  error: TopicError | null;
  /** A step was missed: steps change nothing until the next snapshot. */
  broken?: boolean;
}

export interface TopicError {
  status: number;
  detail: string;
}

export type Topics = ReadonlyMap<string, TopicState>;

export interface ServerMessage {
  topic?: string;
  seq?: number;
  snapshot?: unknown;
  /** What has changed since the message before this one, of a topic that is told in steps. */
  delta?: unknown;
  error?: TopicError;
  pong?: unknown;
  /** With a pong: the number of the last message of each topic. */
  seqs?: Record<string, number>;
}

export interface Step {
  topics: Topics;
  /** Topics to ask for again: a number was missed. */
  resync: string[];
  /** The topic whose snapshot is new or whose step holds, if one does. */
  changed: string | null;
}

const FRESH: TopicState = { seq: 0, snapshot: undefined, error: null };

/**
 * Take in one message. Snapshots are complete, so a gap loses nothing that the
 * next one lacks; it is applied and the topic asked for again all the same, as
 * the missed one may have been the newest. Steps hold only after the message before
 * them: after a gap they are left out until the whole has come again. Old and
 * repeated numbers change nothing.
 */
export function receive(topics: Topics, message: ServerMessage): Step {
  if (message.seqs) return { topics, resync: behind(topics, message.seqs), changed: null };
  const name = message.topic;
  const known = name === undefined ? undefined : topics.get(name);
  if (name === undefined || known === undefined) return { topics, resync: [], changed: null };
  if (message.error) {
    return { topics: put(topics, name, { ...known, error: message.error }), resync: [], changed: null };
  }
  const seq = message.seq ?? 0;
  if (seq <= known.seq) return { topics, resync: [], changed: null };
  if (message.delta !== undefined) {
    const holds = seq === known.seq + 1 && known.seq > 0 && !known.broken;
    if (holds) return { topics: put(topics, name, { ...known, seq, error: null }), resync: [], changed: name };
    return { topics: put(topics, name, { ...known, seq, broken: true }), resync: known.broken ? [] : [name], changed: null };
  }
  const gap = seq > known.seq + 1;
  const next = put(topics, name, { seq, snapshot: message.snapshot, error: null });
  return { topics: next, resync: gap ? [name] : [], changed: name };
}

/** Topics whose last message was missed, although nothing came after it to show the gap. */
function behind(topics: Topics, seqs: Record<string, number>): string[] {
  return [...topics].filter(([name, state]) => (seqs[name] ?? 0) > state.seq).map(([name]) => name);
}

export function add(topics: Topics, name: string): Topics {
  return topics.has(name) ? topics : put(topics, name, FRESH);
}

export function remove(topics: Topics, name: string): Topics {
  const next = new Map(topics);
  next.delete(name);
  return next;
}

/** A new connection numbers from 1 again; what is shown stays until the first snapshot arrives. */
export function restart(topics: Topics): Topics {
  return new Map([...topics].map(([name, state]) => [name, { ...state, seq: 0, broken: false }]));
}

function put(topics: Topics, name: string, state: TopicState): Topics {
  return new Map(topics).set(name, state);
}
