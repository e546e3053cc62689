/** Who is signed in, and which page the address shows. */
import { Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import type { Me } from "../api/types";
import { live } from "../live/hooks";
import { LoginPage } from "../pages/login/LoginPage";
import { Empty, Failed, Loading } from "../ui/parts";
import { Boundary } from "./Boundary";
import { PaletteCommands } from "./palette/commands";
import { pagesFor } from "./pages";
import { placeOf } from "./place";
import { Shell } from "./Shell";
import { rememberSignedIn, useMe } from "./session";

function Inside() {
  const me = useMe();
  const [path] = useLocation();
  const username = me.data?.username;
  useEffect(() => {
    if (username === undefined) return;
    live.start();
    rememberSignedIn(username);
  }, [username]);
  if (me.error && (me.error.status === 401 || me.error.status === 403)) {
    return <Redirect to={`/login?next=${encodeURIComponent(path + location.search)}`} replace />;
  }
  if (me.error && !me.data) return <div className="main"><Failed error={me.error} retry={() => void me.refetch()} /></div>;
  if (!me.data) return <Loading />;
  return <PaletteCommands><Shell me={me.data}><Here me={me.data} path={path} /></Shell></PaletteCommands>;
}

/** A change of page is said: in the tab's title, to screen readers, and by focus, which goes on in the new page. */
function useArrival(name: string, path: string) {
  const [said, setSaid] = useState("");
  const from = useRef(name);
  useLayoutEffect(() => {
    document.title = `${name} · Hydra`;
  }, [name, path]);
  useEffect(() => {
    if (from.current === name) return;
    from.current = name;
    setSaid(name);
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [name]);
  return <p className="sr" aria-live="polite">{said}</p>;
}

/** The page of this address. A fault in it leaves the navigation as it is. */
function Here({ me, path }: { me: Me; path: string }) {
  const place = placeOf(pagesFor(me.role), path);
  const arrival = useArrival(place?.page.name ?? "No such page", path);
  if (!place) return <Empty title="There is no such page">The address may be mistyped, the page may have moved, or it is not for the role {me.role}.</Empty>;
  const Page = place.page.page;
  return (
    <>
      {arrival}
      <Boundary key={place.page.to}>
        <Suspense fallback={<Loading />}><Page me={me} rest={place.rest} /></Suspense>
      </Boundary>
    </>
  );
}

export function App() {
  return (
    <Switch>
      <Route path="/login"><LoginPage /></Route>
      <Route><Inside /></Route>
    </Switch>
  );
}
