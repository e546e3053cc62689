/** Small drawings, 16 by 16. Decoration only: each stands beside its word. */
import type { ReactNode } from "react";
import type { Tone } from "../format/states";

function Icon({ children, size = 16 }: { children: ReactNode; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.6"
      strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      {children}
    </svg>
  );
}

const DOT = { fill: "currentColor", stroke: "none" } as const;

/** A different shape for each state, so that none is told by colour alone. */
const TONE_SHAPES: Record<Tone, ReactNode> = {
  waiting: <circle cx="8" cy="8" r="5.2" strokeDasharray="2.2 2.4" />,
  pending: <circle cx="8" cy="8" r="5.2" />,
  running: <><circle cx="8" cy="8" r="6" opacity="0.35" /><path d="M8 2a6 6 0 0 1 6 6" strokeWidth="2.2" /><circle cx="8" cy="8" r="2.2" {...DOT} /></>,
  stopping: <><circle cx="8" cy="8" r="6" opacity="0.5" /><path d="M6 6h4v4H6z" {...DOT} /></>,
  succeeded: <><circle cx="8" cy="8" r="7" {...DOT} /><path d="M5 8.2l2.1 2.1L11 6.2" stroke="var(--surface)" strokeWidth="1.8" /></>,
  failed: <><circle cx="8" cy="8" r="7" {...DOT} /><path d="M5.7 5.7l4.6 4.6M10.3 5.7l-4.6 4.6" stroke="var(--surface)" strokeWidth="1.8" /></>,
  killed: <><rect x="2" y="2" width="12" height="12" rx="3" {...DOT} /><path d="M5.5 8h5" stroke="var(--surface)" strokeWidth="1.8" /></>,
  lost: <><path d="M8 1.5l6.8 12H1.2z" {...DOT} /><path d="M8 6v3.4M8 11.4v.1" stroke="var(--surface)" /></>,
};

export const ToneIcon = ({ tone, size = 15 }: { tone: Tone; size?: number }) => <Icon size={size}>{TONE_SHAPES[tone]}</Icon>;
export const Sun = () => <Icon><circle cx="8" cy="8" r="3" /><path d="M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" /></Icon>;
export const Moon = () => <Icon><path d="M13.5 9.7A6 6 0 0 1 6.3 2.5a6 6 0 1 0 7.2 7.2z" /></Icon>;
export const Auto = () => <Icon><circle cx="8" cy="8" r="6" /><path d="M8 2a6 6 0 0 1 0 12z" {...DOT} /></Icon>;
export const Leave = () => <Icon><path d="M6 2.5H3v11h3M10.5 5l3 3-3 3M13.5 8H6.5" /></Icon>;
export const Copy = () => <Icon><rect x="5.5" y="5.5" width="8" height="8" rx="1.5" /><path d="M10.5 3.5v-1h-8v8h1" /></Icon>;
export const LinkIcon = () => <Icon><path d="M6.8 9.2a2.6 2.6 0 0 0 3.8 0l2.1-2.2a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.2 6.8a2.6 2.6 0 0 0-3.8 0L3.3 9a2.6 2.6 0 0 0 3.7 3.7l.9-.9" /></Icon>;
export const Check = () => <Icon><path d="M3 8.5l3.2 3.2L13 5" /></Icon>;
export const Download = () => <Icon><path d="M8 2v8M4.8 7.2L8 10.4l3.2-3.2M2.5 13.5h11" /></Icon>;
export const Pause = () => <Icon><path d="M5.5 3.5v9M10.5 3.5v9" /></Icon>;
export const Play = () => <Icon><path d="M5 3l7.5 5L5 13z" {...DOT} /></Icon>;
export const Search = () => <Icon><circle cx="7" cy="7" r="4.4" /><path d="M10.4 10.4L14 14" /></Icon>;
export const Clock = () => <Icon><circle cx="8" cy="8" r="6.2" /><path d="M8 4.5V8l2.4 1.6" /></Icon>;
export const Warning = () => <Icon><path d="M8 2l6.5 11.5h-13z" /><path d="M8 6.5v3M8 11.6v.1" /></Icon>;
export const Gauge = () => <Icon><path d="M2 12a6 6 0 1 1 12 0M8 12l3-4" /></Icon>;
export const Cells = () => <Icon><path d="M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z" /></Icon>;
export const ListIcon = () => <Icon><path d="M2.5 4h11M2.5 8h11M2.5 12h7" /></Icon>;
export const Plus = () => <Icon><path d="M8 3v10M3 8h10" /></Icon>;
export const Up = () => <Icon><path d="M4 10l4-4 4 4" /></Icon>;
export const Down = () => <Icon><path d="M4 6l4 4 4-4" /></Icon>;
export const Menu = () => <Icon><path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" /></Icon>;
export const Close = () => <Icon><path d="M3.5 3.5l9 9M12.5 3.5l-9 9" /></Icon>;
export const Tree = () => <Icon><path d="M3 2.5v11M3 5h4M3 11h4" /><rect x="8.5" y="3" width="5" height="4" rx="1" /><rect x="8.5" y="9" width="5" height="4" rx="1" /></Icon>;
export const ChartIcon = () => <Icon><path d="M2.5 2.5v11h11M5 10.5l2.5-3.5 2.5 2 3-4.5" /></Icon>;
export const Scales = () => <Icon><path d="M8 2v12M5 14h6M3 4.5h10M3 4.5L1.2 9.5a2 2 0 0 0 3.6 0zM13 4.5l-1.8 5a2 2 0 0 0 3.6 0z" /></Icon>;
export const Shield = () => <Icon><path d="M8 1.8l5 1.8v4c0 3.2-2.1 5.4-5 6.6-2.9-1.2-5-3.4-5-6.6v-4z" /><path d="M5.8 8l1.6 1.6 2.9-3.2" /></Icon>;
export const Person = () => <Icon><circle cx="8" cy="5.2" r="2.8" /><path d="M2.8 14c.5-2.9 2.5-4.4 5.2-4.4s4.7 1.5 5.2 4.4" /></Icon>;
