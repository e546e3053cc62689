/** Which address shows which page. Pages beyond the first are loaded when visited. */
import { lazy, Suspense, useEffect } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { live } from "../live/hooks";
import { JobPage } from "../pages/job/JobPage";
import { JobsPage } from "../pages/jobs/JobsPage";
import { LoginPage } from "../pages/login/LoginPage";
import { OverviewPage } from "../pages/overview/OverviewPage";
import { Empty, Failed, Loading } from "../ui/parts";
import { Shell } from "./Shell";
import { useMe } from "./session";

const SubmitPage = lazy(() => import("../pages/submit/SubmitPage"));

function Inside() {
  const me = useMe();
  const [path] = useLocation();
  const signedIn = me.data !== undefined;
  useEffect(() => {
    if (signedIn) live.start();
  }, [signedIn]);
  if (me.error && (me.error.status === 401 || me.error.status === 403)) {
    return <Redirect to={`/login?next=${encodeURIComponent(path + location.search)}`} replace />;
  }
  if (me.error && !me.data) return <div className="main"><Failed error={me.error} retry={() => void me.refetch()} /></div>;
  if (!me.data) return <Loading />;
  return (
    <Shell me={me.data}>
      <Suspense fallback={<Loading />}>
        <Switch>
          <Route path="/"><OverviewPage /></Route>
          <Route path="/jobs"><JobsPage me={me.data} /></Route>
          <Route path="/jobs/:id">{({ id }) => <JobPage key={id} id={id} me={me.data} />}</Route>
          <Route path="/submit"><SubmitPage me={me.data} /></Route>
          <Route><Empty title="There is no such page">The address may be mistyped, or the page has moved.</Empty></Route>
        </Switch>
      </Suspense>
    </Shell>
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
