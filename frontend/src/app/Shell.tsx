/** The frame around every page: where one is, how live it is, who is signed in. A rail at a desk, a menu on a phone. */
import { useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { Me } from "../api/types";
import { coarse } from "../format/units";
import { useLiveness } from "../live/hooks";
import { Auto, Close, Leave, Menu, Moon, Sun } from "../ui/icons";
import { MARK } from "../ui/mark";
import { useNow } from "../ui/parts";
import { Dialogs, FindButton, openPalette, useKeys } from "./palette/Keys";
import { pagesFor } from "./pages";
import { restOf } from "./place";
import { signOut } from "./session";

function LiveIndicator() {
  const liveness = useLiveness();
  const now = useNow();
  const words = { live: "Live", connecting: "Connecting", reconnecting: "Reconnecting" };
  return (
    <span className="live" data-state={liveness.state} title="How fresh this page is">
      <i aria-hidden="true" />
      <span role="status">{words[liveness.state]}</span>
      {liveness.state === "reconnecting" && <span aria-hidden="true" className="clip">· stale since {coarse(now - liveness.since)}</span>}
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

function Pages({ me, onChosen }: { me: Me; onChosen?: () => void }) {
  const [path] = useLocation();
  return (
    <nav className="nav" aria-label="Pages">
      {pagesFor(me.role).filter((p) => !p.hidden).map((p) => (
        <Link key={p.to} href={p.to} title={p.name} aria-current={restOf(path, p.to) === null ? undefined : "page"} onClick={onChosen}>
          {p.icon}<span>{p.name}</span>
        </Link>
      ))}
    </nav>
  );
}

function Account({ me, onChosen }: { me: Me; onChosen?: () => void }) {
  return (
    <div className="account">
      <Link href="/account" className="who" aria-label={`Your account: ${me.username} ${me.role}`} title="Your account" onClick={onChosen}>
        <span className="clip">{me.username}</span>
        <span className="small muted">{me.role}</span>
      </Link>
      <SchemeButton />
      <button type="button" className="icon-button" title="Sign out" aria-label="Sign out" onClick={() => void signOut()}>
        <Leave />
      </button>
    </div>
  );
}

/** The pages on a phone: a dialog, so that focus stays inside and Escape closes it. */
function PhoneMenu({ me }: { me: Me }) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) ref.current?.showModal();
  }, [open]);
  const close = () => ref.current?.close();
  return (
    <>
      <button type="button" className="icon-button" aria-label="Menu" aria-expanded={open} onClick={() => setOpen(true)}><Menu /></button>
      {open && (
        <dialog ref={ref} className="phone-menu" aria-label="Menu" onClose={() => setOpen(false)} onClick={(e) => e.target === e.currentTarget && close()}>
          <div className="row">
            <span className="brand grow"><img src={MARK} alt="" /><span>Hydra</span></span>
            <button type="button" className="icon-button" aria-label="Close the menu" onClick={close}><Close /></button>
          </div>
          <Pages me={me} onChosen={close} />
          <Account me={me} onChosen={close} />
        </dialog>
      )}
    </>
  );
}

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

const NARROW = "(max-width: 720px)"; // as in shell.css

export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const narrow = useNarrow();
  const [opened, setOpened] = useKeys(me);
  const find = <FindButton onOpen={() => setOpened(openPalette)} />;
  const brand = <Link href="/" className="brand" aria-label="Hydra, overview"><img src={MARK} alt="" /><span>Hydra</span></Link>;
  return (
    <div className="shell">
      <a className="skip" href="#main">Skip to the page</a>
      {narrow ? (
        <header className="topbar">
          <PhoneMenu me={me} />
          {brand}
          <span className="grow" />
          <LiveIndicator />
          {find}
        </header>
      ) : (
        <header className="rail">
          {brand}
          {find}
          <Pages me={me} />
          <span className="grow" />
          <LiveIndicator />
          <Account me={me} />
        </header>
      )}
      <main id="main" className="main" tabIndex={-1}>{children}</main>
      <Dialogs me={me} opened={opened} setOpened={setOpened} />
    </div>
  );
}
