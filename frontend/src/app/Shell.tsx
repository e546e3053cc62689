/** The frame around every page: where one is, how live it is, who is signed in. */
import { useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { Me } from "../api/types";
import { coarse } from "../format/units";
import { useLiveness } from "../live/hooks";
import { Auto, Gauge, Leave, ListIcon, Moon, Plus, Sun } from "../ui/icons";
import { MARK } from "../ui/mark";
import { useNow } from "../ui/parts";
import { useSignOut } from "./session";

const PAGES = [
  { to: "/", name: "Overview", icon: <Gauge /> },
  { to: "/jobs", name: "Jobs", icon: <ListIcon /> },
  { to: "/submit", name: "Submit", icon: <Plus /> },
];

function here(path: string, to: string): boolean {
  return to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);
}

export function LiveIndicator() {
  const liveness = useLiveness();
  const now = useNow();
  const words = { live: "Live", connecting: "Connecting", reconnecting: "Reconnecting" };
  return (
    <span className="live" data-state={liveness.state} title="How fresh this page is">
      <i aria-hidden="true" />
      <span role="status">{words[liveness.state]}</span>
      {liveness.state === "reconnecting" && <span aria-hidden="true">· stale since {coarse(now - liveness.since)}</span>}
    </span>
  );
}

const SCHEMES: Record<MantineColorScheme, { next: MantineColorScheme; label: string; icon: ReactNode }> = {
  auto: { next: "light", label: "Colours follow the system", icon: <Auto /> },
  light: { next: "dark", label: "Light colours", icon: <Sun /> },
  dark: { next: "auto", label: "Dark colours", icon: <Moon /> },
};

function SchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const scheme = SCHEMES[colorScheme];
  return (
    <button type="button" className="icon-button" title={scheme.label} onClick={() => setColorScheme(scheme.next)}
      aria-label={`${scheme.label}. Switch to: ${SCHEMES[scheme.next].label.toLowerCase()}`}>
      {scheme.icon}
    </button>
  );
}

export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const [path, go] = useLocation();
  const signOut = useSignOut();
  return (
    <div className="shell">
      <a className="skip" href="#main">Skip to the page</a>
      <header className="topbar">
        <Link href="/" className="brand" aria-label="Hydra, overview"><img src={MARK} alt="" /><span>Hydra</span></Link>
        <nav className="nav" aria-label="Pages">
          {PAGES.filter((p) => p.to !== "/submit" || me.role !== "viewer").map((p) => (
            <Link key={p.to} href={p.to} aria-current={here(path, p.to) ? "page" : undefined}>{p.icon}{p.name}</Link>
          ))}
        </nav>
        <span className="grow" />
        <LiveIndicator />
        <SchemeButton />
        <span className="muted small clip" title={`Signed in as ${me.username} (${me.role})`}>{me.username}</span>
        <button type="button" className="icon-button" title="Sign out" aria-label="Sign out"
          onClick={() => void signOut().then(() => go("/login"))}>
          <Leave />
        </button>
      </header>
      <main id="main" className="main" tabIndex={-1}>{children}</main>
    </div>
  );
}
